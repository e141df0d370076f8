import { expect, test } from 'vitest';

import { numberCheck } from '../../../src/llama/number-check.ts';
import { ReadAheadBlob } from '../../../src/llama/read-ahead-blob.ts';
import { readGguf, TENSOR_TYPES } from '../../../src/gguf/read-gguf.ts';
import { ByteCursor } from '../../../src/gguf/byte-cursor.ts';
import { CHUNK_BYTES } from '../../../src/weights/index.ts';
import { chatMetadata, F32, writeGguf } from '../../support/write-gguf.ts';

const BLOCKS = 5;
const typeOf = (name: string): number => [...TENSOR_TYPES].find(([, type]) => type.name === name)?.[0] ?? -1;

/** A file of two tensors with zeros, in the second of which these bytes are written at an offset in its last block. */
function fileWith(name: string, offset: number, bytes: number[]): Buffer<ArrayBuffer> {
  const { elements, bytes: size } = TENSOR_TYPES.get(typeOf(name)) ?? { elements: 0, bytes: 0 };
  const tensor = { shape: [BLOCKS * elements], type: typeOf(name), bytes: BLOCKS * size };
  const file = writeGguf({
    metadata: chatMetadata,
    tensors: [
      { name: 'whole', ...tensor },
      { name: 'damaged', ...tensor },
    ],
  });
  const { dataOffset, tensors } = readGguf(new ByteCursor(file, file.length));
  file.set(bytes, dataOffset + (tensors[1]?.offset ?? 0) + (BLOCKS - 1) * size + offset);
  return file;
}

/** Reads a file as llama.cpp does, in slices or as a stream. @returns the tensor with a damaged number */
async function check(file: Buffer<ArrayBuffer>, way: 'slices' | 'stream'): Promise<string | null> {
  const blob = new Blob([file]);
  const numbers = await numberCheck(blob);
  const reader = new ReadAheadBlob(blob, (at, bytes) => numbers.check(at, bytes));
  if (way === 'stream') await new Response(reader.stream()).arrayBuffer();
  else await reader.slice(0, file.length).arrayBuffer();
  return numbers.broken();
}

const half = (bits: number): number[] => [bits & 255, bits >> 8];
const [INFINITE, NAN, LARGEST, NEGATIVE, USUAL] = [0x7c00, 0x7e01, 0x7bff, 0xfbff, 0x3c00].map(half);

test.each(['slices', 'stream'] as const)('finds damaged numbers in %s', async (way) => {
  const cases: [type: string, offset: number, bytes: number[] | undefined, broken: boolean][] = [
    ['F32', 0, [0, 0, 0x80, 0x7f], true],
    ['F32', 0, [0, 0, 0x7f, 0x7f], true],
    ['F32', 0, [0xff, 0xff, 0x7f, 0x5f], false],
    ['F16', 0, NAN, true],
    ['F16', -2, INFINITE, true],
    ['F16', 0, LARGEST, false],
    ['BF16', 0, [0x80, 0xff], true],
    ['BF16', -2, [0x80, 0x7f], true],
    ['Q4_0', 0, INFINITE, true],
    ['Q4_0', 0, USUAL, false],
    ['Q4_0', 2, INFINITE, false],
    ['Q4_1', 2, LARGEST, true],
    ['Q5_0', 0, NAN, true],
    ['Q8_0', 0, NEGATIVE, true],
    ['Q2_K', 82, NAN, true],
    ['Q3_K', 108, INFINITE, true],
    ['Q4_K', 0, LARGEST, true],
    ['Q5_K', 2, INFINITE, true],
    ['Q6_K', 208, NAN, true],
    ['IQ1_M', 48, [0, 0, 0, 0, 0, 0xc0, 0, 0x70], true],
    ['IQ1_M', 48, [0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0x6f], false],
    ['Q6_K', 0, NAN, false],
    ['IQ4_XS', 0, INFINITE, true],
    ['MXFP4', 0, [255], true],
    ['MXFP4', 0, [127], false],
  ];
  for (const [type, offset, bytes = [], broken] of cases)
    expect(await check(fileWith(type, offset, bytes), way), type).toBe(broken ? 'damaged' : null);
});

test('finds them in later chunks of a large file', async () => {
  const size = 9 * 2 ** 20;
  const file = writeGguf({
    metadata: chatMetadata,
    tensors: [{ name: 'large', shape: [((size / 34) * 32) | 0], type: 8, bytes: size }],
  });
  const { dataOffset } = readGguf(new ByteCursor(file, file.length));
  expect(await check(file, 'slices')).toBeNull();
  // The second block is in two chunks.
  for (const block of [250_000, Math.floor((CHUNK_BYTES - dataOffset) / 34)]) {
    const damaged = Buffer.from(file);
    damaged.writeUInt16LE(0x7c00, dataOffset + block * 34);
    expect(await check(damaged, 'slices')).toBe('large');
    expect(await check(damaged, 'stream')).toBe('large');
  }
});

test.each(['blk.0.attn_norm.weight', 'blk.0.attn_q.weight.lora_a'])('finds %s of zeros', async (name) => {
  const tensor = { name, shape: [4], type: F32, bytes: 16 };
  const file = (data: Buffer) => writeGguf({ metadata: chatMetadata, tensors: [{ ...tensor, data }] });
  expect(await check(file(Buffer.alloc(16)), 'slices')).toBe(tensor.name);
  expect(await check(file(Buffer.of(0, 0, 0x80, 0x3f)), 'stream')).toBeNull();
});
