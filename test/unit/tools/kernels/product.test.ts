import { describe, expect, test } from 'vitest';

import { type Kernels, LAYOUT, loadKernels, seeded, type Width, writeTensor } from './host-module.ts';
import {
  blockProduct,
  fillWeights,
  quantize256,
  quantize32,
  type QuantizedBlock,
  valueOf,
  WEIGHT_TYPES,
  type WeightType,
  writeQ8K,
} from './quantized.ts';

const MUL_MAT = 'ggml_compute_forward_mul_mat';
const F32 = 0;
const CURRENT_CHUNK = 256;
const f32 = Math.fround;

interface Shape {
  rows: number;
  length: number;
  columns: number;
  threads: number;
}

/** Rows that 4 does not divide; more columns than are taken at once; rows longer than are laid out at once; threads. */
const SHAPES: Shape[] = [
  [4, 256, 1, 1],
  [7, 256, 1, 1],
  [37, 768, 2, 1],
  [50, 512, 4, 1],
  [30, 256, 11, 1],
  [23, 512, 16, 1],
  [66, 256, 37, 2],
  [64, 256, 20, 3],
  [5, 512, 17, 4],
  [9, 2560, 16, 1],
  [13, 1536, 18, 2],
  [6, 40_960, 3, 1],
  [12, 12_288, 1, 1],
].map(([rows = 0, length = 0, columns = 0, threads = 0]) => ({ rows, length, columns, threads }));

function load(width: Width): Kernels {
  const kernels = loadKernels(
    {
      quantize_row_q8_K: (from: number, to: number) => {
        const values = Array.from({ length: 256 }, (_, i) => kernels.memory.getFloat32(from + 4 * i, true));
        writeQ8K(kernels.memory, to, quantize256(values));
      },
    },
    width,
  );
  return kernels;
}

/** Runs a product as llama.cpp's threads would, one after another. @returns the result's address */
function multiply(
  kernels: Kernels,
  weights: WeightType,
  { rows, length, columns, threads }: Shape,
  addresses: { weights: number; inputs: number },
): number {
  const { width, memory, bytes, allocate, call, writeAddress } = kernels;
  const rowBytes = (length / weights.values) * weights.bytes;
  const output = allocate(rows * columns * 4);
  const pool = allocate(CURRENT_CHUNK + 4);
  const params = allocate(40);
  bytes.fill(0, params, params + 40);
  memory.setInt32(params + 4, threads, true);
  writeAddress(params + LAYOUT[width].wdata, allocate((columns * length * 40) / 32));
  writeAddress(params + LAYOUT[width].pool, pool);
  const tensor = writeTensor(kernels, {
    type: F32,
    ne: [rows, columns, 1, 1],
    nb: [4, rows * 4, 0, 0],
    data: output,
    src: [
      writeTensor(kernels, {
        type: weights.id,
        ne: [length, rows, 1, 1],
        nb: [weights.bytes, rowBytes, 0, 0],
        data: addresses.weights,
      }),
      writeTensor(kernels, {
        type: F32,
        ne: [length, columns, 1, 1],
        nb: [4, length * 4, 0, 0],
        data: addresses.inputs,
      }),
    ],
  });
  // Without a barrier, columns are complete after the first round.
  for (let round = 0; round < 2; round++) {
    memory.setInt32(pool + CURRENT_CHUNK, threads, true);
    for (let thread = threads - 1; thread >= 0; thread--) {
      memory.setInt32(params, thread, true);
      call(MUL_MAT, params, tensor);
    }
  }
  return output;
}

/**
 * @param values of the row, where blocks have 256
 * @returns the product in llama.cpp's order of operations; for blocks of 256 in double precision
 */
function reference(
  { memory }: Kernels,
  weights: WeightType,
  row: number,
  values: number[],
  column: QuantizedBlock[],
): number {
  let sum = 0;
  for (const [b, block] of column.entries()) {
    if (weights.values === 32) sum = f32(sum + blockProduct(weights, memory, row + b * weights.bytes, block));
    else
      for (const [i, quant] of block.quants.entries())
        sum += (values[256 * b + i] ?? NaN) * quant * block.scale;
  }
  return sum;
}

describe.each([
  ['SIMD, 32 bits', 32],
  ['relaxed SIMD, 64 bits', 64],
] as const)('%s', (_name, width) => {
  const kernels = load(width);

  test.each(WEIGHT_TYPES)('$name times columns of floats, at odd sizes and numbers of threads', (weights) => {
    const random = seeded(weights.id);
    const { memory, allocate } = kernels;
    for (const shape of SHAPES) {
      kernels.free();
      const { rows, length, columns } = shape;
      const blocks = length / weights.values;
      const addresses = {
        // Nothing is read beyond the weights: the memory ends there.
        weights: memory.byteLength - rows * blocks * weights.bytes,
        inputs: allocate(columns * length * 4),
      };
      fillWeights(weights, memory, addresses.weights, rows * blocks, random);
      const inputs = Array.from({ length: columns * length }, (_, i) =>
        f32(i % 97 === 5 ? 0 : (random() - 0.5) * (i % 61 === 0 ? 20 : 3)),
      );
      for (const [i, input] of inputs.entries()) memory.setFloat32(addresses.inputs + 4 * i, input, true);
      const output = multiply(kernels, weights, shape, addresses);

      const quantize = weights.values === 32 ? quantize32 : quantize256;
      const quantized = Array.from({ length: columns }, (_, c) =>
        Array.from({ length: blocks }, (__, b) => {
          const start = c * length + b * weights.values;
          return quantize(inputs.slice(start, start + weights.values));
        }),
      );
      const found: number[] = [];
      const expected: number[] = [];
      for (let r = 0; r < rows; r++) {
        const row = addresses.weights + r * blocks * weights.bytes;
        const values =
          weights.values === 32
            ? []
            : Array.from({ length }, (_, i) =>
                valueOf(weights, memory, row + (i >> 8) * weights.bytes, i & 255),
              );
        for (const [c, column] of quantized.entries()) {
          found.push(memory.getFloat32(output + 4 * (c * rows + r), true));
          expected.push(reference(kernels, weights, row, values, column));
        }
      }
      if (weights.values === 32) expect(found).toEqual(expected);
      else {
        const most = Math.max(...expected.map(Math.abs));
        const worst = Math.max(...found.map((each, i) => Math.abs(each - (expected[i] ?? NaN))));
        expect(worst / most).toBeLessThan(1e-6);
      }
    }
    expect(kernels.originals()).toBe(0);
  });

  test('a product that the kernels do not know goes to the original', () => {
    kernels.free();
    const unknown: WeightType = { name: 'F16', id: 1, bytes: 2, values: 1, halves: [] };
    const shape = { rows: 4, length: 256, columns: 1, threads: 1 };
    const before = kernels.originals();
    multiply(kernels, unknown, shape, { weights: kernels.allocate(2048), inputs: kernels.allocate(1024) });
    expect(kernels.originals() - before).toBe(2);
  });
});
