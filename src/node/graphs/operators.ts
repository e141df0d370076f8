import type { SafetensorsTensor } from '#gguf';
import { type GraphBuilder, MICROSOFT } from './graph-builder.ts';

/** Outputs of a layer norm: for the following products, and for the residual sum. */
interface NormalizedState {
  /** States in the form that the products of this graph's weights require. */
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

/** A float32 tensor of two axes, the last one contiguous. */
export interface Matrix {
  data: Float32Array;
  rows: number;
  columns: number;
}

interface QuantizedMatrix {
  data: Int8Array;
  /** A row is its bytes times its scale. */
  scales: Float32Array;
}

/** Signed bytes with a scale for each row, whose largest number becomes ±127. */
export function quantizeRows({ data, rows, columns }: Matrix): QuantizedMatrix {
  const quantized = new Int8Array(rows * columns);
  const scales = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const from = row * columns;
    let largest = 0;
    for (let i = from; i < from + columns; i++) largest = Math.max(largest, Math.abs(data[i] ?? 0));
    scales[row] = largest === 0 ? 1 : largest / 127;
    const scale = scales[row] ?? 1;
    for (let i = from; i < from + columns; i++) quantized[i] = Math.round((data[i] ?? 0) / scale);
  }
  return { data: quantized, scales };
}

export function transpose<A extends Float32Array | Int8Array>(data: A, rows: number, columns: number): A {
  const result = data.slice() as A;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      result[column * rows + row] = data[row * columns + column] ?? 0;
  }
  return result;
}

/** Each column times its factor. */
export function scaleColumns({ data, rows, columns }: Matrix, factors: Float32Array): Matrix {
  return { data: data.map((value, i) => value * (factors[i % columns] ?? 1)), rows, columns };
}

export function pickRows({ data, columns }: Matrix, wanted: readonly number[]): Matrix {
  const picked = new Float32Array(wanted.length * columns);
  wanted.forEach((row, at) => picked.set(data.subarray(row * columns, (row + 1) * columns), at * columns));
  return { data: picked, rows: wanted.length, columns };
}

export function pickColumns({ data, rows, columns }: Matrix, wanted: readonly number[]): Matrix {
  const picked = new Float32Array(rows * wanted.length);
  for (let row = 0; row < rows; row++) {
    wanted.forEach((column, at) => (picked[row * wanted.length + at] = data[row * columns + column] ?? 0));
  }
  return { data: picked, rows, columns: wanted.length };
}

/**
 * Divisors for the products, by the number of a hidden dimension in which a model's states are far out. Powers of two,
 * so that nothing is lost by it.
 */
export type OutlierChannels = Readonly<Record<number, number>>;

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
    { hidden, outliers }: { hidden: number; outliers: OutlierChannels },
  ) {
    this.#graph = graph;
    this.#tensor = tensor;
    this.#factors = Float32Array.from({ length: hidden }, (_, dimension) => outliers[dimension] ?? 1);
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
   * Layer norm in single steps, which take two fifths of the operator's time here. Its epsilon is left out: it
   * separates states from 0 that no text has.
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
