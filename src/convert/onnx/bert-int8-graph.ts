import { type BertConfig, buildBert } from './bert-graph.ts';
import { GraphBuilder } from './graph-builder.ts';
import { type FarDimensions, Int8Operators } from './int8-operators.ts';
import type { Matrix } from './quantize.ts';

/**
 * The graph of `bertGraph` with its weights in 8 bits, and within the graph itself. Only for one text at a time: a
 * vector depends a little on what else is in the input. The same input gives the same bytes.
 * What was tried, and what it gives: docs/decisions/embedding-int8.md.
 */
export function bertInt8Graph(
  config: BertConfig,
  tensor: (name: string) => Matrix,
  far: FarDimensions,
): Uint8Array {
  const graph = new GraphBuilder();
  return buildBert(graph, config, new Int8Operators(graph, tensor, { hidden: config.hidden_size, far }));
}
