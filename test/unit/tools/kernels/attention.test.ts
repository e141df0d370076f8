import { getFloat16, setFloat16 } from '@petamoriken/float16';
import { expect, test } from 'vitest';

import { llamaFunctions } from '../../../support/llama-functions.ts';
import { LAYOUT, loadKernels, seeded, writeTensor } from './host-module.ts';
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
const [F32, F16, I32] = [0, 1, 26];
const f32 = Math.fround;
const Q8_0 = WEIGHT_TYPES[0] as WeightType;

const kernelsBy = { 32: loadKernels({}, 32), 64: loadKernels({}, 64) };

interface Shape {
  width: number;
  tokens: number;
  heads: number;
  pairs: number;
  keys: number;
  first: number;
  end: number;
  /** Sequences whose rows of the cache are listed; 0: one sequence has the whole cache. */
  listed: number;
}

/**
 * Widths, heads that share keys, numbers of keys that no step divides, ranges that begin within a head, and sequences
 * that are computed together.
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
  [64, 1, 9, 3, 96, 0, 36, 4],
  [64, 5, 9, 3, 68, 3, 88, 2],
  [96, 1, 4, 4, 36, 0, 4, 1],
].map(([width = 0, tokens = 0, heads = 0, pairs = 0, keys = 0, first = 0, end = 0, listed = 0]) => ({
  width,
  tokens,
  heads,
  pairs,
  keys,
  first,
  end,
  listed,
}));

const CASES = ([32, 64] as const).flatMap((bits) => SHAPES.map((shape) => ({ ...shape, bits })));

/** Attention of one query, in llama.cpp's order of operations. */
function attend(
  memory: DataView,
  query: number[],
  keyOf: (key: number) => number,
  valueOf: (key: number) => number,
  maskAt: (key: number) => number,
  { keys, width }: Shape,
): number[] {
  const scale = f32(1 / Math.sqrt(width));
  const columns = Array.from({ length: width / 32 }, (_, b) => quantize32(query.slice(32 * b, 32 * b + 32)));
  let sums = Array.from({ length: width }, () => 0);
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

/** Row of a key in the cache of `keys` rows a sequence: some follow each other, and the last ones are none. */
function rowAt(key: number, sequence: number, { keys, listed }: Shape): number {
  if (listed === 0) return key;
  if (key >= keys - 3 || key === 13) return -1;
  return key < 8 ? key * listed + sequence : sequence * keys + key;
}

test("exponentials are those of the package's own function", () => {
  const llama = llamaFunctions(['expf']);
  const random = seeded(7);
  const numbers = Array.from({ length: 100_000 }, (_, i) => f32(-random() * 10 ** ((i % 9) - 6)));
  const all = [0, -0, -Infinity, -103.97, -103.98, -87.4, ...numbers].map(f32);
  expect(all.filter((x) => !Object.is(expf(x), llama.call('expf', x)))).toEqual([]);
});

test.each(CASES)(
  'attention over $keys keys of $width values, $listed sequences, bit by bit ($bits bits)',
  (shape) => {
    const kernels = kernelsBy[shape.bits];
    const { width, tokens, heads, pairs, keys, first, end, listed } = shape;
    const sequences = Math.max(1, listed);
    const random = seeded(width + keys);
    kernels.free();
    const { memory, allocate } = kernels;
    const row = (width / 32) * Q8_0.bytes;
    const values = width * tokens * heads;
    const [query, key, value, mask, output, rows] = [
      values * sequences * 4,
      row * pairs * keys * sequences,
      row * pairs * keys * sequences,
      tokens * keys * sequences * 2,
      values * sequences * 4,
      keys * sequences * 4,
    ].map(allocate) as [number, number, number, number, number, number];
    for (let i = 0; i < values * sequences; i++) memory.setFloat32(query + 4 * i, (random() - 0.5) * 4, true);
    const blocks = (row / Q8_0.bytes) * pairs * keys * sequences;
    for (const at of [key, value]) fillWeights(Q8_0, memory, at, blocks, random);
    for (let sequence = 0; sequence < sequences; sequence++)
      for (let k = 0; k < keys; k++) {
        memory.setInt32(rows + (sequence * keys + k) * 4, rowAt(k, sequence, shape), true);
        for (let token = 0; token < tokens; token++) {
          const at = (sequence * tokens + token) * keys + k;
          setFloat16(memory, mask + at * 2, maskOf(k, token, shape), true);
        }
      }
    const cache = (data: number) =>
      writeTensor(kernels, {
        type: Q8_0.id,
        ne: [width, keys * sequences, pairs, 1],
        nb: [Q8_0.bytes, row * pairs, row, 0],
        data,
      });
    const floats = (ne: number[], nb: number[], data: number, src: number[] = []) =>
      writeTensor(kernels, { type: F32, ne, nb, data, src });
    const queries = floats(
      [width, tokens, heads, sequences],
      [4, width * heads * 4, width * 4, values * 4],
      query,
    );
    const masks = writeTensor(kernels, {
      type: F16,
      ne: [keys, tokens, 1, sequences],
      nb: [2, keys * 2, keys * tokens * 2, keys * tokens * 2],
      data: mask,
    });
    const lists = writeTensor(kernels, {
      type: I32,
      ne: [keys, listed, 1, 1],
      nb: [4, keys * 4],
      data: rows,
    });
    const tensor = floats(
      [width, heads, tokens, sequences],
      [4, width * 4, width * heads * 4, values * 4],
      output,
      [queries, cache(key), cache(value), masks, 0, listed === 0 ? 0 : lists],
    );
    memory.setFloat32(tensor + LAYOUT[kernels.width].opParams, 1 / Math.sqrt(width), true);
    kernels.call(FLASH, allocate(64), tensor, first, end, 0, keys, 0, 0);

    for (let r = first; r < end; r++) {
      const sequence = Math.floor(r / (heads * tokens));
      const head = Math.floor(r / tokens) % heads;
      const token = r % tokens;
      const pair = Math.floor(head / (heads / pairs));
      const place = sequence * values + (token * heads + head) * width;
      const floatsAt = (at: number): number[] =>
        Array.from({ length: width }, (_, d) => memory.getFloat32(at + 4 * (place + d), true));
      const placeOf = (from: number) => (k: number) =>
        from + (rowAt(k, sequence, shape) * pairs + pair) * row;
      const maskAt = (k: number): number =>
        rowAt(k, sequence, shape) < 0 ? -Infinity : maskOf(k, token, shape);
      const expected = attend(memory, floatsAt(query), placeOf(key), placeOf(value), maskAt, shape);
      expect(floatsAt(output)).toEqual(expected);
    }
    expect(kernels.originals()).toBe(0);
  },
);
