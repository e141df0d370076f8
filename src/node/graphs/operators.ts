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
  /** Heads' weighted values for `<self>.query`, `key` and `value`, side by side. Absent: attention in ONNX's own operators. */
  attention?(state: NormalizedState, self: string): string;
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

/** A tensor of two axes, the last one contiguous. */
export interface Matrix<Data extends Float32Array | Int8Array = Float32Array> {
  data: Data;
  rows: number;
  columns: number;
}

function matrixOf(rows: number, columns: number, value: (row: number, column: number) => number): Matrix {
  const length = rows * columns;
  const data = Float32Array.from({ length }, (_, i) => value(Math.floor(i / columns), i % columns));
  return { data, rows, columns };
}

const at = ({ data, columns }: Matrix, row = 0, column = 0): number => data[row * columns + column] ?? 0;

/** Signed bytes with a scale for each row, whose largest number becomes ±127: a row is its bytes times its scale. */
export function quantizeRows({ data, rows, columns }: Matrix): Matrix<Int8Array> & { scales: Float32Array } {
  const quantized = new Int8Array(data.length);
  const scales = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const values = data.subarray(row * columns, (row + 1) * columns);
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const scale = (scales[row] = Math.fround(largest / 127) || 1);
    quantized.set(
      values.map((value) => Math.round(value / scale)),
      row * columns,
    );
  }
  return { data: quantized, rows, columns, scales };
}

export function transpose<Data extends Float32Array | Int8Array>(matrix: Matrix<Data>): Matrix<Data> {
  const { rows: columns, columns: rows } = matrix;
  const data = matrix.data.slice() as Data;
  for (let i = 0; i < data.length; i++)
    data[i] = matrix.data[(i % columns) * rows + Math.floor(i / columns)] ?? 0;
  return { data, rows, columns };
}

/** Each column times its factor. */
export const scaleColumns = (matrix: Matrix, factors: Float32Array): Matrix =>
  matrixOf(matrix.rows, matrix.columns, (row, column) => at(matrix, row, column) * (factors[column] ?? 1));

export const pickRows = (matrix: Matrix, wanted: readonly number[]): Matrix =>
  matrixOf(wanted.length, matrix.columns, (row, column) => at(matrix, wanted[row], column));

export const pickColumns = (matrix: Matrix, wanted: readonly number[]): Matrix =>
  matrixOf(matrix.rows, wanted.length, (row, column) => at(matrix, row, wanted[column]));

/** Hadamard matrix: symmetric, and its own inverse. @param size a power of two */
function hadamard(size: number): Matrix {
  const sign = (bits: number): number => (bits === 0 ? 1 : -sign(bits & (bits - 1)));
  return matrixOf(size, size, (row, column) => sign(row & column) / Math.sqrt(size));
}

/** Each `size` columns multiplied by a Hadamard matrix, which spreads what is in one of them over all. */
export function rotateColumns(matrix: Matrix, size: number): Matrix {
  const factors = hadamard(size);
  return matrixOf(matrix.rows, matrix.columns, (row, column) => {
    let sum = 0;
    for (let i = 0, from = column - (column % size); i < size; i++)
      sum += at(matrix, row, from + i) * at(factors, i, column % size);
    return sum;
  });
}

/** Number of neighbouring dimensions of a state that are rotated together. Each outlier channel is in another such block. */
const BLOCK = 32;

/**
 * Divisors for the products, by the number of a hidden dimension in which a model's states are far out. Powers of two,
 * so that nothing is lost by it.
 */
export type OutlierChannels = Readonly<Record<number, number>>;

/** Units of a feed-forward layer that stay in float32; what is left is a multiple of 8 still. */
const FAR_UNITS = 8;

/**
 * Weights in signed bytes with a scale per output; activations are quantized as they come, with one scale for all. Large
 * values would take the precision of the others. So known outlier channels are divided and their weights multiplied; states
 * and values are rotated in blocks, and the following weights, too; all of that is exact. The feed-forward units that write
 * most into one dimension stay in float32.
 * @param tensorOf one of the model's tensors by its name; of one axis: one row
 */
export function int8Operators(
  graph: GraphBuilder,
  tensorOf: (name: string) => Matrix,
  { hidden, heads, outliers }: { hidden: number; heads: number; outliers: OutlierChannels },
): BertOperators {
  const headSize = hidden / heads;
  const stateFactors = Float32Array.from({ length: hidden }, (_, dimension) => outliers[dimension] ?? 1);
  graph.tensor('far_factors', stateFactors, [hidden]);
  const rotation = graph.tensor('rotation', hadamard(BLOCK).data, [BLOCK, BLOCK]);
  const blockShape = graph.constant('block_shape', 'int64', [0, 0, hidden / BLOCK, BLOCK], [4]);
  const stateShape = graph.constant('state_shape', 'int64', [0, 0, hidden], [3]);
  const partLengths = graph.constant('part_lengths', 'int64', [hidden, hidden, hidden], [3]);
  /** Weights for the states that products take. */
  const forStates = (weight: Matrix): Matrix => rotateColumns(scaleColumns(weight, stateFactors), BLOCK);
  function vector(name: string, data: Float32Array): string {
    return graph.tensor(name, data, [data.length]);
  }

  /** A matrix [out, in], as the model has it; the operators take [in, out]. */
  function transposed(name: string, matrix: Matrix<Float32Array | Int8Array>): string {
    const { data, rows, columns } = transpose(matrix);
    return graph.tensor(name, data, [rows, columns]);
  }

  function product(input: string, weight: Matrix, name: string, bias?: Float32Array): string {
    const { scales, ...quantized } = quantizeRows(weight);
    const inputs = [
      input,
      transposed(`${name}.weight.int8`, quantized),
      vector(`${name}.weight.scales`, scales),
      // No zero points: the bytes lie around 0.
      '',
      ...(bias ? [vector(`${name}.bias`, bias)] : []),
    ];
    return graph.node('DynamicQuantizeMatMul', inputs, `${name}.output`, {}, MICROSOFT);
  }

  const floatProduct = (input: string, weight: Matrix, name: string): string =>
    graph.node('MatMul', [input, transposed(`${name}.weight`, weight)], `${name}.product`);

  return {
    table(name: string): string {
      const { data, rows, columns } = tensorOf(name);
      return graph.tensor(name, data, [rows, columns]);
    },

    rows(name: string, indices: string, output: string): string {
      const { data, rows, columns, scales } = quantizeRows(tensorOf(name));
      const bytes = graph.tensor(`${name}.int8`, data, [rows, columns]);
      const taken = graph.node('Gather', [bytes, indices], `${output}.int8`);
      const floats = graph.node('Cast', [taken], `${output}.float`, { to: 1 });
      const scale = graph.tensor(`${name}.scales`, scales, [rows, 1]);
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
      const divided = graph.node('Add', [scaled, vector(`${name}.bias`, shifts)], to);
      if (output !== undefined) return { forProducts: divided, residual: divided };
      const residual = graph.node('Mul', [divided, 'far_factors'], `${name}.residual`);
      const blocks = graph.node('Reshape', [divided, blockShape], `${name}.blocks`);
      const rotated = graph.node('MatMul', [blocks, rotation], `${name}.rotated`);
      const forProducts = graph.node('Reshape', [rotated, stateShape], `${name}.for_products`);
      return { forProducts, residual };
    },

    /** One product makes all three. */
    attention(state: NormalizedState, self: string): string {
      const parts = ['query', 'key', 'value'].map((part) => `${self}.${part}`);
      /** @param turn makes a column of each output, and a row of that again */
      const stacked = (kind: string, turn: (matrix: Matrix) => Matrix): Float32Array =>
        Float32Array.from(
          parts.flatMap((part) => {
            const outputs = turn(tensorOf(`${part}.${kind}`));
            return [...turn(part.endsWith('value') ? rotateColumns(outputs, headSize) : outputs).data];
          }),
        );
      const weight = forStates({ data: stacked('weight', transpose), rows: 3 * hidden, columns: hidden });
      const bias = stacked('bias', (row) => row);
      const sum = product(state.forProducts, weight, self, bias);
      graph.node('Split', [sum, partLengths], parts, { axis: -1 });
      return graph.node('MultiHeadAttention', parts, `${self}.merged`, { num_heads: heads }, MICROSOFT);
    },

    linear(input: string, name: string): string {
      const weight = rotateColumns(tensorOf(`${name}.weight`), headSize);
      return product(input, weight, name, tensorOf(`${name}.bias`).data);
    },

    feedForward(state: NormalizedState, layer: string): string {
      const [expand, contract] = [`${layer}.intermediate.dense`, `${layer}.output.dense`];
      const expanding = tensorOf(`${expand}.weight`);
      const expandBias = tensorOf(`${expand}.bias`);
      const contracting = tensorOf(`${contract}.weight`);
      const [far, near] = parted(contracting);

      const nearBias = pickColumns(expandBias, near).data;
      const nearUnits = product(state.forProducts, forStates(pickRows(expanding, near)), expand, nearBias);
      const nearGelu = graph.node('FastGelu', [nearUnits], `${layer}.intermediate.gelu`, {}, MICROSOFT);
      const nearSum = product(nearGelu, pickColumns(contracting, near), contract);

      const farUnits = floatProduct(state.residual, pickRows(expanding, far), `${expand}.far`);
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
