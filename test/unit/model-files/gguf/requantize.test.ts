import { getFloat16, setFloat16 } from '@petamoriken/float16';
import { expect, test } from 'vitest';

import { q4_1ToQ8_0 } from '../../../../src/model-files/gguf/requantize.ts';
import { ByteCursor, FormatError } from '../../../../src/model-files/gguf/byte-cursor.ts';
import { readGguf } from '../../../../src/model-files/gguf/read-gguf.ts';
import { block, requantized, tinyGguf, weights } from './tiny-gguf.ts';

test('Q8_0 holds the weights of Q4_1 to 1/254 of the largest', () => {
  const converted = q4_1ToQ8_0(block);
  expect(converted).toHaveLength(34);
  const step = getFloat16(new DataView(converted.buffer), 0, true);
  const largest = 5.5;
  expect(step).toBeCloseTo(largest / 127, 4);
  const signed = new Int8Array(converted.buffer, 2);
  for (const [i, weight] of weights.entries())
    expect(Math.abs((signed[i] ?? 0) * step - weight)).toBeLessThanOrEqual(largest / 254 + 0.002);
});

test('a block of nothing but zeros stays so', () => {
  expect(q4_1ToQ8_0(new Uint8Array(20))).toEqual(new Uint8Array(34));
});

test('the file keeps its metadata and the tensors that were not Q4_1', async () => {
  const file = await requantized(tinyGguf());
  const gguf = readGguf(new ByteCursor(file, file.length));
  expect([...gguf.metadata.keys()]).toEqual(['general.file_type', 'general.name', 'tokens']);
  const fileType = gguf.metadata.get('general.file_type')?.at ?? 0;
  expect(new DataView(file.buffer).getUint32(fileType, true)).toBe(7);
  expect(gguf.tensors).toEqual([
    { name: 'blk', shape: [32], type: 8, offset: 0 },
    { name: 'norm', shape: [2], type: 0, offset: 64 },
  ]);
  const norm = file.slice(gguf.dataOffset + 64, gguf.dataOffset + 72);
  expect([...new Float32Array(norm.buffer)]).toEqual([1.5, -2.5]);
});

test('a file that is cut short, or no GGUF at all, is refused', async () => {
  const whole = tinyGguf();
  await expect(requantized(whole.subarray(0, whole.length - 8))).rejects.toThrow(/tensor norm ends at byte/);
  for (const length of [0, 3, 20, 60, 100])
    await expect(requantized(whole.subarray(0, length))).rejects.toThrow(FormatError);
  await expect(requantized(new Uint8Array(64))).rejects.toThrow('is not a GGUF');
});

test('scales are rounded as the library rounds them', () => {
  const expected = new DataView(new ArrayBuffer(2));
  for (let i = 1; i < 20_000; i++) {
    // From less than the smallest float16 to more than a thousand, with both kinds of ties among them.
    const scale = getFloat16(new DataView(Uint16Array.of(i % 0x6000).buffer), 0, true);
    const source = new Uint8Array(20);
    setFloat16(new DataView(source.buffer), 0, scale, true);
    source[4] = i & 15;
    setFloat16(expected, 0, Math.abs(scale * (i & 15)) / 127, true);
    expect(new DataView(q4_1ToQ8_0(source).buffer).getUint16(0, true)).toBe(expected.getUint16(0, true));
  }
});
