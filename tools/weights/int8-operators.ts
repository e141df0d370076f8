import type { BertOperators, NormalizedState } from './bert-operators.ts';
import { type GraphBuilder, MICROSOFT } from './graph-builder.ts';
import { type Matrix, pickColumns, pickRows, quantizeRows, scaleColumns, transpose } from './quantize.ts';

/**
 * By the number of a hidden dimension in which a model's states are far out, by what they are divided for the products.
 * Powers of two, so that nothing is lost by it.
 */
export type FarDimensions = Readonly<Record<number, number>>;

/** Units of a feed-forward layer that stay in float32; what is left is a multiple of 8 still. */
const FAR_UNITS = 8;

/**
 * Weights in signed bytes with a scale per output; activations are quantized as they come, with one scale for all. Large
 * values would take the precision of the others, so known outlier channels are kept out: state dimensions are divided and
 * their weights multiplied, which is exact; the feed-forward units that write most into one dimension stay in float32.
 */
export class Int8Operators implements BertOperators {
  readonly #graph: GraphBuilder;
  readonly #tensor: (name: string) => Matrix;
  readonly #factors: Float32Array;

  /** @param tensor one of the model's tensors by its name; of one axis: one row. */
  constructor(
    graph: GraphBuilder,
    tensor: (name: string) => Matrix,
    { hidden, far }: { hidden: number; far: FarDimensions },
  ) {
    this.#graph = graph;
    this.#tensor = tensor;
    this.#factors = Float32Array.from({ length: hidden }, (_, dimension) => far[dimension] ?? 1);
    graph.tensor('far_factors', this.#factors, [hidden]);
  }

  table(name: string): string {
    const { data, rows, columns } = this.#tensor(name);
    return this.#graph.tensor(name, data, [rows, columns]);
  }

  rows(name: string, indices: string, output: string): string {
    const table = this.#tensor(name);
    const { data, scales } = quantizeRows(table);
    const bytes = this.#graph.tensor(`${name}.int8`, data, [table.rows, table.columns]);
    const taken = this.#graph.node('Gather', [bytes, indices], `${output}.int8`);
    const floats = this.#graph.node('Cast', [taken], `${output}.float`, { to: 1 });
    const scale = this.#graph.tensor(`${name}.scales`, scales, [table.rows, 1]);
    const scaleTaken = this.#graph.node('Gather', [scale, indices], `${output}.scales`);
    return this.#graph.node('Mul', [floats, scaleTaken], output);
  }

  /**
   * In single steps, which take two fifths of the operator's time here. Its epsilon is left out: it separates states
   * from 0 that no text has.
   */
  layerNorm(input: string, name: string, output?: string): NormalizedState {
    const [gain, shift] = [this.#tensor(`${name}.weight`).data, this.#tensor(`${name}.bias`).data];
    const overLast = { axes: [-1], keepdims: 1 };
    const mean = this.#graph.node('ReduceMean', [input], `${name}.mean`, overLast);
    const centered = this.#graph.node('Sub', [input, mean], `${name}.centered`);
    const length = this.#graph.node('ReduceL2', [centered], `${name}.length`, overLast);
    const unit = this.#graph.node('Div', [centered, length], `${name}.unit`);
    // The last state goes out, and is multiplied with nothing.
    const factors = output === undefined ? this.#factors : this.#factors.map(() => 1);
    const deviations = Math.sqrt(gain.length);
    const gains = gain.map((value, i) => (value * deviations) / (factors[i] ?? 1));
    const shifts = shift.map((value, i) => value / (factors[i] ?? 1));
    const scaled = this.#graph.node('Mul', [unit, this.#vector(`${name}.weight`, gains)], `${name}.scaled`);
    const to = output ?? `${name}.output`;
    const forProducts = this.#graph.node('Add', [scaled, this.#vector(`${name}.bias`, shifts)], to);
    if (output !== undefined) return { forProducts, residual: forProducts };
    const residual = this.#graph.node('Mul', [forProducts, 'far_factors'], `${name}.residual`);
    return { forProducts, residual };
  }

  linear(input: string | NormalizedState, name: string): string {
    const weight = this.#tensor(`${name}.weight`);
    const bias = this.#tensor(`${name}.bias`).data;
    if (typeof input === 'string') return this.#product(input, weight, name, bias);
    return this.#product(input.forProducts, scaleColumns(weight, this.#factors), name, bias);
  }

  feedForward(state: NormalizedState, layer: string): string {
    const [expand, contract] = [`${layer}.intermediate.dense`, `${layer}.output.dense`];
    const expanding = scaleColumns(this.#tensor(`${expand}.weight`), this.#factors);
    const expandBias = this.#tensor(`${expand}.bias`);
    const contracting = this.#tensor(`${contract}.weight`);
    const [far, near] = parted(contracting);

    const nearBias = pickColumns(expandBias, near).data;
    const nearUnits = this.#product(state.forProducts, pickRows(expanding, near), expand, nearBias);
    const nearGelu = this.#graph.node('FastGelu', [nearUnits], `${layer}.intermediate.gelu`, {}, MICROSOFT);
    const nearSum = this.#product(nearGelu, pickColumns(contracting, near), contract);

    const farUnits = this.#floatProduct(state.forProducts, pickRows(expanding, far), `${expand}.far`);
    const farBias = this.#vector(`${expand}.far.bias`, pickColumns(expandBias, far).data);
    const farBiased = this.#graph.node('Add', [farUnits, farBias], `${expand}.far.output`);
    const farGelu = this.#graph.node('Gelu', [farBiased], `${layer}.intermediate.far.gelu`, {}, MICROSOFT);
    const farSum = this.#floatProduct(farGelu, pickColumns(contracting, far), `${contract}.far`);
    const contractBias = this.#vector(`${contract}.bias`, this.#tensor(`${contract}.bias`).data);
    const farOutput = this.#graph.node('Add', [farSum, contractBias], `${contract}.far.output`);
    return this.#graph.node('Add', [nearSum, farOutput], `${contract}.sum`);
  }

  #vector(name: string, data: Float32Array): string {
    return this.#graph.tensor(name, data, [data.length]);
  }

  /** @param weight [out, in], as the model has it; the operator takes [in, out]. */
  #product(input: string, weight: Matrix, name: string, bias?: Float32Array): string {
    const { rows, columns } = weight;
    const { data, scales } = quantizeRows(weight);
    const inputs = [
      input,
      this.#graph.tensor(`${name}.weight.int8`, transpose(data, rows, columns), [columns, rows]),
      this.#vector(`${name}.weight.scales`, scales),
      // No zero points: the bytes lie around 0.
      '',
      ...(bias ? [this.#vector(`${name}.bias`, bias)] : []),
    ];
    return this.#graph.node('DynamicQuantizeMatMul', inputs, `${name}.output`, {}, MICROSOFT);
  }

  #floatProduct(input: string, { data, rows, columns }: Matrix, name: string): string {
    const weight = this.#graph.tensor(`${name}.weight`, transpose(data, rows, columns), [columns, rows]);
    return this.#graph.node('MatMul', [input, weight], `${name}.product`);
  }
}

/** The units with the largest single weight out of a feed-forward layer, and the others, each in their order. */
function parted({ data, rows, columns }: Matrix): [far: number[], near: number[]] {
  const largest = new Float32Array(columns);
  for (let i = 0; i < rows * columns; i++)
    largest[i % columns] = Math.max(largest[i % columns] ?? 0, Math.abs(data[i] ?? 0));
  const units = Array.from({ length: columns }, (_, unit) => unit);
  const far = new Set(units.toSorted((a, b) => (largest[b] ?? 0) - (largest[a] ?? 0)).slice(0, FAR_UNITS));
  return [units.filter((unit) => far.has(unit)), units.filter((unit) => !far.has(unit))];
}
