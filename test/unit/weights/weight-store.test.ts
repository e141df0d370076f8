import { createHash } from 'node:crypto';

import { expect, test, vi } from 'vitest';

import { MemoryBackend } from '../../../src/weights/backends/open-backend.ts';
import { recordName } from '../../../src/weights/backends/storage-backend.ts';
import { parseRecord } from '../../../src/weights/integrity/integrity-record.ts';
import { pathNote, replace, type StorageBackend } from '../../../src/weights/backends/storage-backend.ts';
import { openStore } from './open-store.ts';
import { holdLock, weightLock } from '../../../src/protocol/locks.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

const bytes = new Uint8Array(1000).map((_, index) => index % 251);
const file = { path: 'm/a.bin', bytes: 1000, sha256: createHash('sha256').update(bytes).digest('hex') };
const options = { signal: new AbortController().signal, onProgress: () => undefined };

test('downloads once, and not again', async () => {
  const fetched = vi.fn(async () => new Response(bytes));
  vi.stubGlobal('fetch', fetched);
  const store = openStore(new MemoryBackend(), 'http://site.test/models/');
  await store.file(file, options);
  const { blob, intact } = await store.file(file, options);
  expect(new Uint8Array(await blob.arrayBuffer())).toEqual(bytes);
  expect(await intact).toBe(true);
  expect(fetched).toHaveBeenCalledTimes(1);
});

test('a download goes on when a script steals its lock', async () => {
  const locks = new FakeLocks();
  vi.stubGlobal('fetch', async () => {
    locks.steal(weightLock(file.sha256))();
    return new Response(bytes);
  });
  const store = openStore(new MemoryBackend(), 'http://site.test/', locks);
  expect((await store.file(file, options)).blob.size).toBe(file.bytes);
});

test('refuses bytes of another hash', async () => {
  vi.stubGlobal('fetch', async () => new Response(new Uint8Array(1000)));
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  await expect(store.file(file, options)).rejects.toMatchObject({ wire: { code: 'weights_corrupt' } });
});

async function flipByte(backend: StorageBackend, at: number): Promise<void> {
  const writer = await backend.write(file.sha256);
  const stored = await writer.read(0, file.bytes);
  await writer.write(
    stored.map((byte, index) => (index === at ? byte ^ 1 : byte)),
    0,
  );
  await writer.close();
}

test.each(['no record of chunks', 'a record cut short'])(
  'with %s, a file is hashed as a whole, and has one then',
  async (which) => {
    vi.stubGlobal('fetch', async () => new Response(bytes));
    const backend = new MemoryBackend();
    await openStore(backend, 'http://site.test/').file(file, options);
    const whole = (await (await backend.read(recordName(file.sha256)))?.text()) ?? '';
    expect(parseRecord(whole, file.sha256)?.chunks).toEqual([file.sha256]);
    const old = which === 'a record cut short' ? whole.slice(0, -9) : '{"path":"m/a.bin","bytes":1000}';
    await replace(backend, recordName(file.sha256), old);
    const later = openStore(backend, 'http://site.test/');
    expect(await (await later.file(file, options)).intact).toBe(true);
    const renewed = (await (await backend.read(recordName(file.sha256)))?.text()) ?? '';
    // Where the file came from is no longer known.
    expect(parseRecord(renewed, file.sha256)).toEqual({ ...parseRecord(whole, file.sha256), from: null });
    await replace(backend, recordName(file.sha256), old);
    await flipByte(backend, 999);
    const last = openStore(backend, 'http://site.test/');
    expect(await (await last.file(file, options)).intact).toBe(false);
  },
);

test('what is stored leads from its path, until it is deleted', async () => {
  vi.stubGlobal('fetch', async () => new Response(bytes));
  const backend = new MemoryBackend();
  const store = openStore(backend, 'http://site.test/');
  await store.file(file, options);
  expect(JSON.parse((await store.notes.note(await pathNote('/', 'm/a.bin'))) ?? '')).toEqual({
    sha256: file.sha256,
    bytes: 1000,
  });
  await store.delete(file);
  expect([...backend.files.keys()]).toEqual([]);
});

test('two workers never download the same file at once', async () => {
  const fetched = vi.fn(async () => new Response(bytes));
  vi.stubGlobal('fetch', fetched);
  const backend = new MemoryBackend();
  const locks = new FakeLocks();
  const stores = [1, 2].map(() => openStore(backend, 'http://site.test/', locks));
  await Promise.all(stores.map((store) => store.file(file, options)));
  expect(fetched).toHaveBeenCalledTimes(1);
});

test('a file given by hand is held to its hash', async () => {
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  await expect(store.put([file], new Blob([bytes.slice(1)]), options.signal)).rejects.toThrow(/m\/a\.bin/);
  await store.put([file], new Blob([bytes]), options.signal);
  expect(await store.missing([file])).toEqual([]);
});

test('what another app of the origin is writing is neither dropped by cancel nor deleted', async () => {
  vi.stubGlobal('fetch', async () => new Response(bytes));
  const backend = new MemoryBackend();
  const locks = new FakeLocks();
  const store = openStore(backend, 'http://site.test/', locks);
  await replace(backend, `${file.sha256}.part`, '{"version":null,"chunks":[0],"parts":[]}');
  const release = await holdLock(locks.manager, `localtext:weights:${file.sha256}`);
  await store.cancel([file]);
  expect(await store.storedBytes([file])).toBe(1000);
  await expect(store.delete(file)).rejects.toMatchObject({ wire: { code: 'weights_in_use' } });
  release();
  await vi.waitFor(() => expect(locks.heldNames()).toEqual([]));
  await store.cancel([file]);
  expect([...backend.files.keys()]).toEqual([]);
});

test('a lost file that the user added is named with its date and size, and not requested', async () => {
  const fetched = vi.fn();
  vi.stubGlobal('fetch', fetched);
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  const added = { name: 'my model.gguf', at: Date.UTC(2026, 2, 14) };
  await expect(store.file({ ...file, bytes: 98_362_432, added }, options)).rejects.toMatchObject({
    message: expect.stringContaining('my model.gguf (98 MB), added from this device on 2026-03-14') as string,
    wire: { code: 'weights_unavailable' },
  });
  expect(fetched).not.toHaveBeenCalled();
});
