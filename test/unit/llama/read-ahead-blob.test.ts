import { expect, test, vi } from 'vitest';

import { ReadAheadBlob } from '../../../src/llama/read-ahead-blob.ts';

const MIB = 2 ** 20;
const bytes = new Uint8Array(41 * MIB).map((_, index) => (index * 31) % 251);
const blob = new Blob([bytes]);

const read = async (from: Blob, start: number, end: number): Promise<Buffer> =>
  Buffer.from(await from.slice(start, end).arrayBuffer());

test('gives the bytes of the blob, within a chunk, across chunks and at the end', async () => {
  const ahead = new ReadAheadBlob(blob);
  expect(ahead.size).toBe(blob.size);
  for (const [start, end] of [
    [0, 10],
    [4 * MIB - 5, 4 * MIB + 5],
    [3 * MIB, 19 * MIB + 1],
    [40 * MIB, 41 * MIB],
    [41 * MIB - 3, 50 * MIB],
    [41 * MIB, 42 * MIB],
  ] as const)
    expect((await read(ahead, start, end)).equals(bytes.subarray(start, end))).toBe(true);
  const streamed = new Uint8Array(await new Response(ahead.stream()).arrayBuffer());
  expect(Buffer.from(streamed).equals(bytes)).toBe(true);
});

test('reads a chunk once, while a reader goes back and forth among a few', async () => {
  const slice = vi.spyOn(blob, 'slice');
  const ahead = new ReadAheadBlob(blob);
  for (let at = 0; at < 40; at++) {
    await read(ahead, at * MIB, (at + 1) * MIB);
    await read(ahead, Math.max(0, at - 7) * MIB + 1, (at + 1) * MIB);
  }
  // Its own slices are a little longer than a chunk; those that it is asked for are not read.
  const chunks = slice.mock.calls.filter(([start = 0, end = 0]) => end - start === 4 * MIB + 256);
  expect(chunks.map(([start = 0]) => start / (4 * MIB))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  ahead.forget();
  await read(ahead, 0, 10);
  expect(slice.mock.lastCall).toEqual([4 * MIB, 8 * MIB + 256]);
  slice.mockRestore();
});

test('a read that fails is reported to the caller', async () => {
  const broken = new Blob([bytes.subarray(0, 10)]);
  vi.spyOn(broken, 'slice').mockImplementation(() => {
    const part = new Blob([new Uint8Array(10)]);
    part.arrayBuffer = () => Promise.reject(new DOMException('gone', 'NotReadableError'));
    return part;
  });
  await expect(read(new ReadAheadBlob(broken), 0, 10)).rejects.toThrow('gone');
});
