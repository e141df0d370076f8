import { createHash } from 'node:crypto';
import { afterEach, expect, test, vi } from 'vitest';

import { MemoryShelf } from '../../../src/engine/weights/memory-shelf.ts';
import { WeightStore } from '../../../src/engine/weights/weight-store.ts';

const bytes = new Uint8Array(1000).map((_, index) => index % 251);
const file = { path: 'm/a.bin', bytes: 1000, sha256: createHash('sha256').update(bytes).digest('hex') };
const options = { signal: new AbortController().signal, onProgress: () => undefined };

afterEach(() => vi.unstubAllGlobals());

test('downloads once, and not again', async () => {
  const fetched = vi.fn(async () => new Response(bytes));
  vi.stubGlobal('fetch', fetched);
  const store = new WeightStore(new MemoryShelf(), 'http://site.test/models/');
  await store.file(file, options);
  const { blob, intact } = await store.file(file, options);
  expect(new Uint8Array(await blob.arrayBuffer())).toEqual(bytes);
  expect(await intact).toBe(true);
  expect(fetched).toHaveBeenCalledTimes(1);
});

test('goes on behind the part that is there', async () => {
  const shelf = new MemoryShelf();
  const part = await shelf.write(file.sha256, 0);
  await part.write(bytes.slice(0, 400));
  await part.close();
  const headers = { 'content-range': 'bytes 400-999/1000' };
  const fetched = vi.fn(async () => new Response(bytes.slice(400), { status: 206, headers }));
  vi.stubGlobal('fetch', fetched);
  const { blob } = await new WeightStore(shelf, 'http://site.test/').file(file, options);
  expect(new Uint8Array(await blob.arrayBuffer())).toEqual(bytes);
  expect(fetched).toHaveBeenCalledWith(
    'http://site.test/m/a.bin',
    expect.objectContaining({ headers: { range: 'bytes=400-' } }),
  );
});

test('refuses bytes of another hash', async () => {
  vi.stubGlobal('fetch', async () => new Response(new Uint8Array(1000)));
  const store = new WeightStore(new MemoryShelf(), 'http://site.test/');
  await expect(store.file(file, options)).rejects.toMatchObject({ wire: { code: 'weights_corrupt' } });
});

test('finds a flipped byte, and fetches the file again', async () => {
  vi.stubGlobal('fetch', async () => new Response(bytes));
  const shelf = new MemoryShelf();
  await new WeightStore(shelf, 'http://site.test/').file(file, options);
  const flipped = await shelf.write(file.sha256, 0);
  await flipped.write(bytes.map((byte, index) => (index === 7 ? byte ^ 1 : byte)));
  await flipped.close();
  const later = new WeightStore(shelf, 'http://site.test/');
  expect(await (await later.file(file, options)).intact).toBe(false);
  expect(await later.missing([file])).toEqual([file]);
});
