import { createHash } from 'node:crypto';
import { afterEach, expect, test, vi } from 'vitest';

import { MemoryShelf } from '../../../src/weights/backends/memory-backend.ts';
import { readReceipt, receiptName } from '../../../src/weights/integrity/integrity-record.ts';
import { replace, type Shelf } from '../../../src/weights/backends/storage-backend.ts';
import { pathNote } from '../../../src/weights/backends/stored-path.ts';
import { WeightStore } from '../../../src/weights/weight-store.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

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

test('refuses bytes of another hash', async () => {
  vi.stubGlobal('fetch', async () => new Response(new Uint8Array(1000)));
  const store = new WeightStore(new MemoryShelf(), 'http://site.test/');
  await expect(store.file(file, options)).rejects.toMatchObject({ wire: { code: 'weights_corrupt' } });
});

async function flipByte(shelf: Shelf, at: number): Promise<void> {
  const writer = await shelf.write(file.sha256);
  const stored = await writer.read(0, file.bytes);
  await writer.write(
    stored.map((byte, index) => (index === at ? byte ^ 1 : byte)),
    0,
  );
  await writer.close();
}

test('finds a flipped byte, and fetches the file again', async () => {
  vi.stubGlobal('fetch', async () => new Response(bytes));
  const shelf = new MemoryShelf();
  await new WeightStore(shelf, 'http://site.test/').file(file, options);
  await flipByte(shelf, 7);
  const later = new WeightStore(shelf, 'http://site.test/');
  expect(await (await later.file(file, options)).intact).toBe(false);
  expect(await later.missing([file])).toEqual([file]);
});

test.each(['no receipt of pieces', 'a receipt cut short'])(
  'with %s, a file is hashed as a whole, and has one then',
  async (which) => {
    vi.stubGlobal('fetch', async () => new Response(bytes));
    const shelf = new MemoryShelf();
    await new WeightStore(shelf, 'http://site.test/').file(file, options);
    const whole = (await (await shelf.read(receiptName(file.sha256)))?.text()) ?? '';
    expect(readReceipt(whole, file.sha256)?.pieces).toEqual([file.sha256]);
    const old = which === 'a receipt cut short' ? whole.slice(0, -9) : '{"path":"m/a.bin","bytes":1000}';
    await replace(shelf, receiptName(file.sha256), old);
    const later = new WeightStore(shelf, 'http://site.test/');
    expect(await (await later.file(file, options)).intact).toBe(true);
    expect(await (await shelf.read(receiptName(file.sha256)))?.text()).toBe(whole);
    await replace(shelf, receiptName(file.sha256), old);
    await flipByte(shelf, 999);
    const last = new WeightStore(shelf, 'http://site.test/');
    expect(await (await last.file(file, options)).intact).toBe(false);
  },
);

test('what is stored leads from its path, until it is deleted', async () => {
  vi.stubGlobal('fetch', async () => new Response(bytes));
  const store = new WeightStore(new MemoryShelf(), 'http://site.test/');
  await store.file(file, options);
  expect(JSON.parse((await store.note(await pathNote('/', 'm/a.bin'))) ?? '')).toEqual({
    sha256: file.sha256,
    bytes: 1000,
  });
  await store.remove(file);
  expect(await store.shelf.names()).toEqual([]);
});

test('a truncated file is found without reading it', async () => {
  vi.stubGlobal('fetch', async () => new Response(bytes));
  const shelf = new MemoryShelf();
  const store = new WeightStore(shelf, 'http://site.test/');
  await store.file(file, options);
  await replace(shelf, file.sha256, 'cut');
  expect(await store.missing([file])).toEqual([file]);
  expect((await (await store.file(file, options)).blob.arrayBuffer()).byteLength).toBe(1000);
});

test('two workers never download the same file at once', async () => {
  const fetched = vi.fn(async () => new Response(bytes));
  vi.stubGlobal('fetch', fetched);
  const shelf = new MemoryShelf();
  const locks = new FakeLocks().manager;
  const stores = [1, 2].map(() => new WeightStore(shelf, 'http://site.test/', locks));
  await Promise.all(stores.map((store) => store.file(file, options)));
  expect(fetched).toHaveBeenCalledTimes(1);
});

test('a file given by hand is held to its hash', async () => {
  const store = new WeightStore(new MemoryShelf(), 'http://site.test/');
  await expect(store.put(file, new Blob([bytes.slice(1)]), options.signal)).rejects.toThrow(/m\/a\.bin/);
  await store.put(file, new Blob([bytes]), options.signal);
  expect(await store.missing([file])).toEqual([]);
});
