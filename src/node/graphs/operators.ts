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
export function floatOperators(
  graph: GraphBuilder,
  tensors: ReadonlyMap<string, SafetensorsTensor>,
  epsilon: number,
): BertOperators {
  const operators: BertOperators = {
    table(name: string): string {
      const tensor = tensors.get(name);
      if (tensor === undefined) throw new Error(`the weights have no tensor ${name}`);
      return graph.external(tensor);
    },

    rows(name: string, indices: string, output: string): string {
      return graph.node('Gather', [operators.table(name), indices], output);
    },

    layerNorm(input: string, name: string, output = `${name}.output`): NormalizedState {
      const inputs = [input, operators.table(`${name}.weight`), operators.table(`${name}.bias`)];
      graph.node('LayerNormalization', inputs, output, { axis: -1, epsilon: { float: epsilon } });
      return { forProducts: output, residual: output };
    },

    /** Weights are kept as [out, in]; the runtime folds the transposition away when it loads. */
    linear(input: string | NormalizedState, name: string): string {
      const from = typeof input === 'string' ? input : input.forProducts;
      const weight = operators.table(`${name}.weight`);
      const transposed = graph.node('Transpose', [weight], `${name}.transposed`, { perm: [1, 0] });
      const product = graph.node('MatMul', [from, transposed], `${name}.product`);
      return graph.node('Add', [product, operators.table(`${name}.bias`)], `${name}.output`);
    },

    feedForward(state: NormalizedState, layer: string): string {
      const expanded = operators.linear(state, `${layer}.intermediate.dense`);
      const activated = graph.node('Gelu', [expanded], `${layer}.intermediate.gelu`, {}, MICROSOFT);
      return operators.linear(activated, `${layer}.output.dense`);
    },
  };
  return operators;
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
 * @param tensorOf one of the model's tensors by its name; of one axis: one row
 */
export function int8Operators(
  graph: GraphBuilder,
  tensorOf: (name: string) => Matrix,
  { hidden, outliers }: { hidden: number; outliers: OutlierChannels },
): BertOperators {
  const stateFactors = Float32Array.from({ length: hidden }, (_, dimension) => outliers[dimension] ?? 1);
  graph.tensor('far_factors', stateFactors, [hidden]);
  function vector(name: string, data: Float32Array): string {
    return graph.tensor(name, data, [data.length]);
  }

  /** @param weight [out, in], as the model has it; the operator takes [in, out]. */
  function product(input: string, weight: Matrix, name: string, bias?: Float32Array): string {
    const { rows, columns } = weight;
    const { data, scales } = quantizeRows(weight);
    const inputs = [
      input,
      graph.tensor(`${name}.weight.int8`, transpose(data, rows, columns), [columns, rows]),
      vector(`${name}.weight.scales`, scales),
      // No zero points: the bytes lie around 0.
      '',
      ...(bias ? [vector(`${name}.bias`, bias)] : []),
    ];
    return graph.node('DynamicQuantizeMatMul', inputs, `${name}.output`, {}, MICROSOFT);
  }

  function floatProduct(input: string, { data, rows, columns }: Matrix, name: string): string {
    const weight = graph.tensor(`${name}.weight`, transpose(data, rows, columns), [columns, rows]);
    return graph.node('MatMul', [input, weight], `${name}.product`);
  }

  return {
    table(name: string): string {
      const { data, rows, columns } = tensorOf(name);
      return graph.tensor(name, data, [rows, columns]);
    },

    rows(name: string, indices: string, output: string): string {
      const table = tensorOf(name);
      const { data, scales } = quantizeRows(table);
      const bytes = graph.tensor(`${name}.int8`, data, [table.rows, table.columns]);
      const taken = graph.node('Gather', [bytes, indices], `${output}.int8`);
      const floats = graph.node('Cast', [taken], `${output}.float`, { to: 1 });
      const scale = graph.tensor(`${name}.scales`, scales, [table.rows, 1]);
      const scaleTaken = graph.node('Gather', [scale, indices], `${output}.scales`);
      return graph.node('Mul', [floats, scaleTaken], output);
    },

    /**
     * Layer norm in single steps, which take two fifths of the operator's time here. Its epsilon is left out: it
     * separates states from 0 that no text has.
     */
    layerNorm(input: string, name: string, output?: string): NormalizedState {
      const [gain, shift] = [tensorOf(`${name}.weight`).data, tensorOf(`${name}.bias`).data];
      const overLast = { axes: [-1], keepdims: 1 };
      const mean = graph.node('ReduceMean', [input], `${name}.mean`, overLast);
      const centered = graph.node('Sub', [input, mean], `${name}.centered`);
      const length = graph.node('ReduceL2', [centered], `${name}.length`, overLast);
      const unit = graph.node('Div', [centered, length], `${name}.unit`);
      // The last state goes out, and is multiplied with nothing.
      const factors = output === undefined ? stateFactors : stateFactors.map(() => 1);
      const deviations = Math.sqrt(gain.length);
      const gains = gain.map((value, i) => (value * deviations) / (factors[i] ?? 1));
      const shifts = shift.map((value, i) => value / (factors[i] ?? 1));
      const scaled = graph.node('Mul', [unit, vector(`${name}.weight`, gains)], `${name}.scaled`);
      const to = output ?? `${name}.output`;
      const forProducts = graph.node('Add', [scaled, vector(`${name}.bias`, shifts)], to);
      if (output !== undefined) return { forProducts, residual: forProducts };
      const residual = graph.node('Mul', [forProducts, 'far_factors'], `${name}.residual`);
      return { forProducts, residual };
    },

    linear(input: string | NormalizedState, name: string): string {
      const weight = tensorOf(`${name}.weight`);
      const bias = tensorOf(`${name}.bias`).data;
      if (typeof input === 'string') return product(input, weight, name, bias);
      return product(input.forProducts, scaleColumns(weight, stateFactors), name, bias);
    },

    feedForward(state: NormalizedState, layer: string): string {
      const [expand, contract] = [`${layer}.intermediate.dense`, `${layer}.output.dense`];
      const expanding = scaleColumns(tensorOf(`${expand}.weight`), stateFactors);
      const expandBias = tensorOf(`${expand}.bias`);
      const contracting = tensorOf(`${contract}.weight`);
      const [far, near] = parted(contracting);

      const nearBias = pickColumns(expandBias, near).data;
      const nearUnits = product(state.forProducts, pickRows(expanding, near), expand, nearBias);
      const nearGelu = graph.node('FastGelu', [nearUnits], `${layer}.intermediate.gelu`, {}, MICROSOFT);
      const nearSum = product(nearGelu, pickColumns(contracting, near), contract);

      const farUnits = floatProduct(state.forProducts, pickRows(expanding, far), `${expand}.far`);
      const farBias = vector(`${expand}.far.bias`, pickColumns(expandBias, far).data);
      const farBiased = graph.node('Add', [farUnits, farBias], `${expand}.far.output`);
      const farGelu = graph.node('Gelu', [farBiased], `${layer}.intermediate.far.gelu`, {}, MICROSOFT);
      const farSum = floatProduct(farGelu, pickColumns(contracting, far), `${contract}.far`);
      const contractBias = vector(`${contract}.bias`, tensorOf(`${contract}.bias`).data);
      const farOutput = graph.node('Add', [farSum, contractBias], `${contract}.far.output`);
      return graph.node('Add', [nearSum, farOutput], `${contract}.sum`);
    },
  };
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
