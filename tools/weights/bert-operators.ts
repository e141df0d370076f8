/** What a layer norm gives: to the products that follow, and to the sum around them. */
export interface NormalizedState {
  /** As the products of this graph's weights want it. */
  forProducts: string;
  residual: string;
}

/** The parts of a BERT graph in which its weights are, as they are or quantized. Names are those of tensors and nodes. */
export interface BertOperators {
  /** A tensor in float32, as it is. */
  table(name: string): string;
  /** The rows of a table that `indices` name. */
  rows(name: string, indices: string, output: string): string;
  layerNorm(input: string, name: string, output?: string): NormalizedState;
  /** The product with `<name>.weight`, and `<name>.bias` added. */
  linear(input: string | NormalizedState, name: string): string;
  /** `<layer>.intermediate.dense`, GELU and `<layer>.output.dense`. */
  feedForward(state: NormalizedState, layer: string): string;
}
