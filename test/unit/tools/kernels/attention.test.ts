import { getFloat16, setFloat16 } from '@petamoriken/float16';
import { expect, test } from 'vitest';

import { llamaFunctions } from '../../../support/llama-functions.ts';
import { type Kernels, LAYOUT, loadKernels, seeded, writeTensor } from './host-module.ts';
import { expf } from './musl-expf.ts';
import {
  fillWeights,
  quantize32,
  WEIGHT_TYPES,
  type WeightType,
  blockProduct,
  quantOf,
} from './quantized.ts';

const FLASH = 'ggml_compute_forward_flash_attn_ext_f16_one_chunk';
const F32 = 0;
const F16 = 1;
const I32 = 26;
const f32 = Math.fround;
const Q8_0 = WEIGHT_TYPES[0] as WeightType;

const kernelsBy = { 32: loadKernels({}, 32), 64: loadKernels({}, 64) };

interface Shape {
  /** Values of a query and of a key. */
  width: number;
  tokens: number;
  heads: number;
  pairs: number;
  keys: number;
  first: number;
  end: number;
  /** Values of a row that the keys' scores weigh. */
  valueWidth: number;
}

/**
 * Widths, heads that share keys, numbers of keys that no step divides, ranges that begin within a head, many heads, other widths of values,
 * and the most queries at the largest widths.
 */
const SHAPES: Shape[] = [
  [64, 1, 9, 3, 64, 0, 9],
  [64, 6, 9, 3, 96, 0, 54],
  [128, 5, 4, 4, 36, 0, 20],
  [64, 6, 9, 3, 128, 7, 50],
  [32, 3, 6, 2, 4, 0, 18],
  [256, 2, 4, 1, 32, 0, 8],
  [96, 1, 8, 8, 100, 0, 8],
  [32, 18, 2, 2, 68, 0, 36],
  [32, 2, 128, 8, 36, 0, 256],
  [160, 3, 6, 3, 40, 0, 18],
  [192, 5, 4, 2, 36, 0, 20, 128],
  [64, 17, 3, 1, 40, 0, 51, 256],
  [256, 5, 4, 1, 68, 0, 20],
  [64, 1, 4, 1, 72, 0, 4],
].map(([width = 0, tokens = 0, heads = 0, pairs = 0, keys = 0, first = 0, end = 0, valueWidth = width]) => ({
  width,
  tokens,
  heads,
  pairs,
  keys,
  first,
  end,
  valueWidth,
}));

const CASES = ([32, 64] as const).flatMap((bits) => SHAPES.map((shape) => ({ ...shape, bits })));

/** Attention of one query, in llama.cpp's order of operations. */
function attend(
  memory: DataView,
  query: number[],
  keyOf: (key: number) => number,
  valueOf: (key: number) => number,
  maskAt: (key: number) => number,
  { keys, width, valueWidth }: Shape,
): number[] {
  const scale = f32(1 / Math.sqrt(width));
  const columns = Array.from({ length: width / 32 }, (_, b) => quantize32(query.slice(32 * b, 32 * b + 32)));
  let sums = Array.from({ length: valueWidth }, () => 0);
  let [most, total] = [-Infinity, 0];
  for (let key = 0; key < keys; key++) {
    const mask = maskAt(key);
    if (mask === -Infinity) continue;
    const product = columns.reduce(
      (sum, column, b) => f32(sum + blockProduct(Q8_0, memory, keyOf(key) + b * Q8_0.bytes, column)),
      0,
    );
    const score = f32(f32(product * scale) + mask);
    let [before, weight] = [1, 1];
    if (score > most) {
      before = expf(f32(most - score));
      most = score;
      sums = sums.map((sum) => f32(sum * before));
    } else weight = expf(f32(score - most));
    sums = sums.map((sum, d) => {
      const block = valueOf(key) + (d >> 5) * Q8_0.bytes;
      const value = f32(quantOf(Q8_0, memory, block, d & 31) * getFloat16(memory, block, true));
      return f32(sum + f32(value * weight));
    });
    total = f32(f32(total * before) + weight);
  }
  const factor = total === 0 ? 0 : f32(1 / total);
  return sums.map((sum) => f32(sum * factor));
}

/** Hides some keys in the middle and those after the token, and makes some less likely. */
function maskOf(key: number, token: number, { keys, tokens }: Shape): number {
  if (key > keys - tokens - 3 + token || (key > 3 && key < 40 && keys > 64)) return -Infinity;
  return key % 7 === 2 ? -0.5 : 0;
}

test("exponentials are those of the package's own function", () => {
  const llama = llamaFunctions(['expf']);
  const random = seeded(7);
  const numbers = Array.from({ length: 100_000 }, (_, i) => f32(-random() * 10 ** ((i % 9) - 6)));
  const all = [0, -0, -Infinity, -103.97, -103.98, -87.4, ...numbers].map(f32);
  expect(all.filter((x) => !Object.is(expf(x), llama.call('expf', x)))).toEqual([]);
});

test.each([32, 64] as const)('rows of the cache are quantized as llama.cpp does (%i bits)', (bits) => {
  const { memory, allocate, call, free } = kernelsBy[bits];
  const random = seeded(bits);
  free();
  const [from, to] = [allocate(256), allocate(68)];
  const values = Array.from({ length: 64 }, (_, i) => f32((random() - 0.5) * (i < 32 ? 9 : 0)));
  for (const [i, value] of values.entries()) memory.setFloat32(from + 4 * i, value, true);
  call('quantize_row_q8_0_ref', from, to, 64);
  for (const at of [0, 1]) {
    const { quants, scale } = quantize32(values.slice(32 * at, 32 * at + 32));
    expect(getFloat16(memory, to + 34 * at, true)).toBe(scale);
    expect(quants.map((_, i) => memory.getInt8(to + 34 * at + 2 + i))).toEqual(quants.map((q) => q + 0));
  }
});

/** Writes a query, keys, values and a mask, and what the kernel is called with. */
function write(kernels: Kernels, shape: Shape, valueType: WeightType = Q8_0) {
  const { width, tokens, heads, pairs, keys, valueWidth } = shape;
  const random = seeded(width + keys);
  kernels.free();
  const { memory, allocate } = kernels;
  const row = (width / 32) * Q8_0.bytes;
  const valueRow = (valueWidth / valueType.values) * valueType.bytes;
  // Nothing is read beyond the keys: the memory ends there.
  const key = memory.byteLength - row * pairs * keys;
  const [query, value, mask, output] = [
    width * tokens * heads * 4,
    valueRow * pairs * keys,
    tokens * keys * 2,
    valueWidth * tokens * heads * 4,
  ].map(allocate) as [number, number, number, number];
  for (let i = 0; i < width * tokens * heads; i++)
    memory.setFloat32(query + 4 * i, (random() - 0.5) * 4, true);
  for (const [at, bytes] of [
    [key, row],
    [value, valueRow],
  ] as const)
    fillWeights(Q8_0, memory, at, Math.ceil((bytes * pairs * keys) / Q8_0.bytes), random);
  for (let token = 0; token < tokens; token++)
    for (let k = 0; k < keys; k++)
      setFloat16(memory, mask + (token * keys + k) * 2, maskOf(k, token, shape), true);
  const cache = (type: WeightType, data: number, values: number, bytes: number) => ({
    type: type.id,
    ne: [values, keys, pairs, 1],
    nb: [type.bytes, bytes * pairs, bytes, 0],
    data,
  });
  const tensor = writeTensor(kernels, {
    type: F32,
    ne: [valueWidth, heads, tokens, 1],
    nb: [4, valueWidth * 4, valueWidth * heads * 4, 0],
    data: output,
    src: [
      writeTensor(kernels, {
        type: F32,
        ne: [width, tokens, heads, 1],
        nb: [4, width * heads * 4, width * 4, 0],
        data: query,
      }),
      writeTensor(kernels, cache(Q8_0, key, width, row)),
      writeTensor(kernels, cache(valueType, value, valueWidth, valueRow)),
      writeTensor(kernels, {
        type: F16,
        ne: [keys, tokens, 1, 1],
        nb: [2, keys * 2, keys * tokens * 2, 0],
        data: mask,
      }),
    ],
  });
  memory.setFloat32(tensor + LAYOUT[kernels.width].opParams, 1 / Math.sqrt(width), true);
  return { query, key, value, output, tensor, row, valueRow };
}

test.each(CASES)('attention over $keys keys of $width values, bit by bit ($bits bits)', (shape) => {
  const kernels = kernelsBy[shape.bits];
  const { width, tokens, heads, pairs, keys, first, end, valueWidth } = shape;
  const { query, key, value, output, tensor, row, valueRow } = write(kernels, shape);
  const { memory } = kernels;
  const before = kernels.originals();
  kernels.call(FLASH, kernels.allocate(64), tensor, first, end, 0, keys, 0, 0);

  for (let r = first; r < end; r++) {
    const head = Math.floor(r / tokens);
    const token = r % tokens;
    const pair = Math.floor(head / (heads / pairs));
    const floats = (at: number, length: number): number[] =>
      Array.from({ length }, (_, d) =>
        memory.getFloat32(at + 4 * ((token * heads + head) * length + d), true),
      );
    const rowOf = (from: number, bytes: number) => (k: number) => from + (k * pairs + pair) * bytes;
    const expected = attend(
      memory,
      floats(query, width),
      rowOf(key, row),
      rowOf(value, valueRow),
      (k) => maskOf(k, token, shape),
      shape,
    );
    expect(floats(output, valueWidth)).toEqual(expected);
  }
  expect(kernels.originals() - before).toBe(0);
});

test.each([32, 64] as const)('what the kernel does not know goes to the original (%i bits)', (bits) => {
  const kernels = kernelsBy[bits];
  const f16: WeightType = { name: 'F16', id: F16, bytes: 2, values: 1, halves: [] };
  const first = CASES[0] as Shape;
  const unknown: [Shape, WeightType][] = [
    [first, f16],
    [{ ...first, width: 288, valueWidth: 64 }, Q8_0],
    [{ ...first, valueWidth: 288 }, Q8_0],
  ];
  for (const [shape, valueType] of unknown) {
    const { tensor } = write(kernels, shape, valueType);
    const before = kernels.originals();
    kernels.call(FLASH, kernels.allocate(64), tensor, 0, 9, 0, 64, 0, 0);
    expect(kernels.originals() - before).toBe(1);
  }
});

test.each([32, 64] as const)('sequences that list their rows of the cache, bit by bit (%i bits)', (bits) => {
  const kernels = kernelsBy[bits];
  const { memory, writeAddress } = kernels;
  const [width, keys, pairs, sequences, heads] = [64, 60, 3, 2, 6];
  const shape = {
    width,
    tokens: 1,
    heads: heads * sequences,
    pairs,
    keys,
    first: 0,
    end: 12,
    valueWidth: width,
  };
  const { query, key, value, output, tensor, row, valueRow } = write(kernels, shape);
  // Some rows follow each other; below 0 there is none.
  const rowAt = (k: number, sequence: number): number => {
    if (k === 13 || k > 56) return -1;
    return k < 40 ? k + sequence : (k * 7 + sequence) % keys;
  };
  const rows = kernels.allocate(keys * sequences * 4);
  for (let i = 0; i < keys * sequences; i++)
    memory.setInt32(rows + 4 * i, rowAt(i % keys, Math.floor(i / keys)), true);
  const lists = writeTensor(kernels, {
    type: I32,
    ne: [keys, sequences, 1, 1],
    nb: [4, keys * 4],
    data: rows,
  });
  const { ne, nb, src } = LAYOUT[bits];
  const address = bits / 8;
  const queries = memory.getUint32(tensor + src, true);
  memory.setBigInt64(queries + ne + 16, BigInt(heads), true);
  memory.setBigInt64(queries + ne + 24, BigInt(sequences), true);
  writeAddress(queries + nb + 3 * address, heads * width * 4);
  memory.setBigInt64(tensor + ne + 8, BigInt(heads), true);
  writeAddress(tensor + src + 5 * address, lists);
  const before = kernels.originals();
  kernels.call(FLASH, kernels.allocate(64), tensor, 0, shape.end, 0, keys, 0, 0);

  for (let r = 0; r < shape.end; r++) {
    const sequence = Math.floor(r / heads);
    const pair = Math.floor((r % heads) / (heads / pairs));
    const floats = (at: number): number[] =>
      Array.from({ length: width }, (_, d) => memory.getFloat32(at + 4 * (r * width + d), true));
    const placeOf = (from: number, bytes: number) => (k: number) =>
      from + (rowAt(k, sequence) * pairs + pair) * bytes;
    const maskAt = (k: number): number => (rowAt(k, sequence) < 0 ? -Infinity : maskOf(k, 0, shape));
    const expected = attend(
      memory,
      floats(query),
      placeOf(key, row),
      placeOf(value, valueRow),
      maskAt,
      shape,
    );
    expect(floats(output)).toEqual(expected);
  }
  expect(kernels.originals() - before).toBe(0);
});
