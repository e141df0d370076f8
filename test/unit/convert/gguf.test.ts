import { getFloat16 } from '@petamoriken/float16';
import { expect, test } from 'vitest';

import { q4_1ToQ8_0 } from '../../../src/convert/gguf/q8-0.ts';
import { requantizeToQ8_0 } from '../../../src/convert/gguf/requantize.ts';
import { ByteCursor, FormatError } from '../../../src/gguf/byte-cursor.ts';
import { readGguf } from '../../../src/gguf/read-gguf.ts';
import { block, tinyGguf, weights } from './tiny-gguf.ts';

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

test('the file keeps its metadata and the tensors that were not Q4_1', () => {
  const file = Uint8Array.from(requantizeToQ8_0(tinyGguf()));
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

test('a file that is cut short, or no GGUF at all, is refused', () => {
  const whole = tinyGguf();
  expect(() => requantizeToQ8_0(whole.subarray(0, whole.length - 8))).toThrow(/tensor norm ends at byte/);
  for (const length of [0, 3, 20, 60, 100])
    expect(() => requantizeToQ8_0(whole.subarray(0, length))).toThrow(FormatError);
  expect(() => requantizeToQ8_0(new Uint8Array(64))).toThrow('is not a GGUF');
});
