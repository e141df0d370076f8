import type { SafetensorsTensor } from '../../src/model-files/gguf/read-safetensors.ts';
import type { BertOperators, NormalizedState } from './bert-operators.ts';
import { type GraphBuilder, MICROSOFT } from './graph-builder.ts';

/** Float32 weights that stay in the file they came in. */
export class FloatOperators implements BertOperators {
  readonly #graph: GraphBuilder;
  readonly #tensors: ReadonlyMap<string, SafetensorsTensor>;
  readonly #epsilon: number;

  constructor(graph: GraphBuilder, tensors: ReadonlyMap<string, SafetensorsTensor>, epsilon: number) {
    this.#graph = graph;
    this.#tensors = tensors;
    this.#epsilon = epsilon;
  }

  table(name: string): string {
    const tensor = this.#tensors.get(name);
    if (tensor === undefined) throw new Error(`the weights have no tensor ${name}`);
    return this.#graph.external(tensor);
  }

  rows(name: string, indices: string, output: string): string {
    return this.#graph.node('Gather', [this.table(name), indices], output);
  }

  layerNorm(input: string, name: string, output = `${name}.output`): NormalizedState {
    const inputs = [input, this.table(`${name}.weight`), this.table(`${name}.bias`)];
    this.#graph.node('LayerNormalization', inputs, output, { axis: -1, epsilon: { float: this.#epsilon } });
    return { forProducts: output, residual: output };
  }

  /** Weights are kept as [out, in]; the runtime folds the transposition away when it loads. */
  linear(input: string | NormalizedState, name: string): string {
    const from = typeof input === 'string' ? input : input.forProducts;
    const weight = this.table(`${name}.weight`);
    const transposed = this.#graph.node('Transpose', [weight], `${name}.transposed`, { perm: [1, 0] });
    const product = this.#graph.node('MatMul', [from, transposed], `${name}.product`);
    return this.#graph.node('Add', [product, this.table(`${name}.bias`)], `${name}.output`);
  }

  feedForward(state: NormalizedState, layer: string): string {
    const expanded = this.linear(state, `${layer}.intermediate.dense`);
    const activated = this.#graph.node('Gelu', [expanded], `${layer}.intermediate.gelu`, {}, MICROSOFT);
    return this.linear(activated, `${layer}.output.dense`);
  }
}
