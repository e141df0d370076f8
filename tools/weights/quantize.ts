/** A float32 tensor of two axes, the last one contiguous. */
export interface Matrix {
  data: Float32Array;
  rows: number;
  columns: number;
}

export interface QuantizedMatrix {
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
