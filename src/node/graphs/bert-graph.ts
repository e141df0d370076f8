import { type SafetensorsTensor, readHeader, readSafetensors } from '#gguf';
import {
  type BertOperators,
  type OutlierChannels,
  floatOperators,
  int8Operators,
  type Matrix,
} from './operators.ts';
import { GraphBuilder, MICROSOFT } from './graph-builder.ts';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface BertConfig {
  hidden_size: number;
  num_attention_heads: number;
  num_hidden_layers: number;
  layer_norm_eps: number;
}

/**
 * The ONNX graph of a BERT encoder: `input_ids`, `attention_mask` and `token_type_ids` (int64 [batch, sequence]) to
 * `last_hidden_state` (float32 [batch, sequence, hidden]). Its weights stay where they are, in the safetensors file that
 * goes by the name `externalFile` beside the graph. The same input gives the same bytes.
 */
export function bertGraph(
  config: BertConfig,
  tensors: ReadonlyMap<string, SafetensorsTensor>,
  externalFile: string,
): Uint8Array {
  const graph = new GraphBuilder(externalFile);
  return buildBert(graph, config, floatOperators(graph, tensors, config.layer_norm_eps));
}

/**
 * The graph of `bertGraph` with its weights in 8 bits, and within the graph itself. Only for one text at a time: a
 * vector depends a little on what else is in the input. The same input gives the same bytes.
 * What was tried, and what it gives: docs/decisions/onnx-embeddings.md.
 */
export function bertInt8Graph(
  config: BertConfig,
  tensor: (name: string) => Matrix,
  outliers: OutlierChannels,
): Uint8Array {
  const graph = new GraphBuilder();
  const { hidden_size: hidden, num_attention_heads: heads } = config;
  return buildBert(graph, config, int8Operators(graph, tensor, { hidden, heads, outliers }));
}

const ATTENTION_MASK = 'attention_mask';

/**
 * The encoder, its weights taken as `operators` does.
 * Source of the architecture: Devlin et al., "BERT", 2018, in the tensor names of Hugging Face's BertModel.
 */
function buildBert(graph: GraphBuilder, config: BertConfig, operators: BertOperators): Uint8Array {
  const { hidden_size: hidden } = config;

  const inputIds = graph.input('input_ids', 'int64', ['batch_size', 'sequence_length']);
  graph.input(ATTENTION_MASK, 'int64', ['batch_size', 'sequence_length']);
  const tokenTypeIds = graph.input('token_type_ids', 'int64', ['batch_size', 'sequence_length']);

  const zero = graph.constant('zero', 'int64', [0], [1]);
  const one = graph.constant('one', 'int64', [1], [1]);
  const two = graph.constant('two', 'int64', [2], [1]);
  const attention = operators.attention ?? plainAttention(graph, config, operators);

  const shape = graph.node('Shape', [inputIds], 'input.shape');
  const length = graph.node('Slice', [shape, one, two, zero], 'input.length');
  const positionWeights = operators.table('embeddings.position_embeddings.weight');
  const positions = graph.node('Slice', [positionWeights, zero, length, zero], 'embeddings.positions');
  const words = operators.rows('embeddings.word_embeddings.weight', inputIds, 'embeddings.words');
  const typeWeights = operators.table('embeddings.token_type_embeddings.weight');
  const types = graph.node('Gather', [typeWeights, tokenTypeIds], 'embeddings.types');
  const wordsAndTypes = graph.node('Add', [words, types], 'embeddings.words_and_types');
  const embeddings = graph.node('Add', [wordsAndTypes, positions], 'embeddings.sum');
  let state = operators.layerNorm(embeddings, 'embeddings.LayerNorm');

  for (let index = 0; index < config.num_hidden_layers; index++) {
    const layer = `encoder.layer.${index}`;
    const attended = operators.linear(
      attention(state, `${layer}.attention.self`),
      `${layer}.attention.output.dense`,
    );
    const attendedSum = graph.node('Add', [attended, state.residual], `${layer}.attention.sum`);
    const attentionState = operators.layerNorm(attendedSum, `${layer}.attention.output.LayerNorm`);

    const contracted = operators.feedForward(attentionState, layer);
    const sum = graph.node('Add', [contracted, attentionState.residual], `${layer}.output.sum`);
    const last = index === config.num_hidden_layers - 1;
    state = operators.layerNorm(sum, `${layer}.output.LayerNorm`, last ? 'last_hidden_state' : undefined);
  }

  graph.output(state.residual, 'float32', ['batch_size', 'sequence_length', hidden]);
  return graph.build('bert', { '': 17, [MICROSOFT]: 1 });
}

/** Attention in ONNX's own operators, for texts of several lengths. */
function plainAttention(
  graph: GraphBuilder,
  { hidden_size: hidden, num_attention_heads: heads }: BertConfig,
  operators: BertOperators,
): NonNullable<BertOperators['attention']> {
  const headSize = hidden / heads;
  const splitShape = graph.constant('split_shape', 'int64', [0, 0, heads, headSize], [4]);
  const mergedShape = graph.constant('merged_shape', 'int64', [0, 0, hidden], [3]);
  const maskAxes = graph.constant('mask_axes', 'int64', [1, 2], [2]);
  const scale = graph.constant('scale', 'float32', [1 / Math.sqrt(headSize)]);
  const oneFloat = graph.constant('one_float', 'float32', [1]);
  const masked = graph.constant('masked', 'float32', [-1e9]);

  // 0 where a token counts, -1e9 where it is padding: [batch, 1, 1, sequence].
  const maskFloat = graph.node('Cast', [ATTENTION_MASK], 'mask.float', { to: 1 });
  const maskWide = graph.node('Unsqueeze', [maskFloat, maskAxes], 'mask.wide');
  const maskInverse = graph.node('Sub', [oneFloat, maskWide], 'mask.inverse');
  const maskBias = graph.node('Mul', [maskInverse, masked], 'mask.bias');

  const splitHeads = (input: string, name: string, perm: number[]): string => {
    const split = graph.node('Reshape', [input, splitShape], `${name}.split`);
    return graph.node('Transpose', [split], `${name}.heads`, { perm });
  };

  return (state, self) => {
    const query = splitHeads(operators.linear(state, `${self}.query`), `${self}.query`, [0, 2, 1, 3]);
    const key = splitHeads(operators.linear(state, `${self}.key`), `${self}.key`, [0, 2, 3, 1]);
    const value = splitHeads(operators.linear(state, `${self}.value`), `${self}.value`, [0, 2, 1, 3]);
    const products = graph.node('MatMul', [query, key], `${self}.products`);
    const scaled = graph.node('Mul', [products, scale], `${self}.scaled`);
    const scores = graph.node('Add', [scaled, maskBias], `${self}.scores`);
    const shares = graph.node('Softmax', [scores], `${self}.shares`, { axis: -1 });
    const context = graph.node('MatMul', [shares, value], `${self}.context`);
    const gathered = graph.node('Transpose', [context], `${self}.gathered`, { perm: [0, 2, 1, 3] });
    return graph.node('Reshape', [gathered, mergedShape], `${self}.merged`);
  };
}

/** Positions of the tensors in a safetensors file. @throws FormatError */
export async function tensorsOfFile(path: string): Promise<Map<string, SafetensorsTensor>> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const read = async (length: number): Promise<Uint8Array> => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(length, size)), 0, null, 0);
      return buffer.subarray(0, bytesRead);
    };
    return await readHeader({ size, read }, readSafetensors);
  } finally {
    await file.close();
  }
}

/** The float32 tensors of a safetensors file by name, of one axis (one row) or two. */
async function matricesOfFile(path: string): Promise<(name: string) => Matrix> {
  const tensors = await tensorsOfFile(path);
  const { buffer, byteOffset } = await readFile(path);
  return (name) => {
    const tensor = tensors.get(name);
    if (tensor === undefined) throw new Error(`the weights have no tensor ${name}`);
    const { shape, offset, length } = tensor;
    const columns = shape.at(-1) ?? 1;
    // A copy: a header of any length may end at an address that is no multiple of 4.
    const data = new Float32Array(buffer.slice(byteOffset + offset, byteOffset + offset + length));
    return { data, rows: data.length / columns, columns };
  };
}

const WEIGHTS = 'model.safetensors';

/** The ONNX graph for the BERT model in a folder with `config.json` and `model.safetensors`. */
export async function graphForFolder(folder: string): Promise<Uint8Array> {
  const tensors = await tensorsOfFile(join(folder, WEIGHTS));
  return bertGraph(await readConfig(folder), tensors, 'model.onnx_data');
}

/** The same graph with embedded 8-bit weights. */
export const int8GraphForFolder = async (folder: string, outliers: OutlierChannels): Promise<Uint8Array> =>
  bertInt8Graph(await readConfig(folder), await matricesOfFile(join(folder, WEIGHTS)), outliers);

const readConfig = async (folder: string): Promise<BertConfig> =>
  JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as BertConfig;
