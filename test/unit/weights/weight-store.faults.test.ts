import { expect, test, vi } from 'vitest';

import type { WeightFile } from '../../../src/catalog/catalog.ts';
import { MemoryBackend } from '../../../src/weights/backends/open-backend.ts';
import { recordName } from '../../../src/weights/backends/storage-backend.ts';
import { type BackendWriter, CHUNK_BYTES, replace } from '../../../src/weights/backends/storage-backend.ts';
import type { WeightStore } from '../../../src/weights/weight-store.ts';
import { openStore } from './open-store.ts';
import { type StoredFault, storedFaults } from '../../support/stored-faults.ts';
import { fileOf, serveFile, someBytes } from './file-server.ts';

const body = someBytes(2 * CHUNK_BYTES + 1000);
const otherBody = Buffer.from(body.toReversed());
const file = fileOf(body);
const other = fileOf(otherBody, 'm/b.bin');
const options = { signal: new AbortController().signal, onProgress: () => undefined };

/** A file has one writer at a time, as in the origin private file system, and is not removed meanwhile. */
class ExclusiveBackend extends MemoryBackend {
  readonly #open = new Set<string>();

  override async write(name: string): Promise<BackendWriter> {
    this.#refuseOpen(name);
    this.#open.add(name);
    // Opening takes milliseconds there.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const writer = await super.write(name);
    return { ...writer, close: async () => void this.#open.delete(name) };
  }

  override async remove(name: string): Promise<void> {
    this.#refuseOpen(name);
    await super.remove(name);
  }

  #refuseOpen(name: string): void {
    if (this.#open.has(name)) throw new DOMException(`${name} is open`, 'NoModificationAllowedError');
  }
}

const bytesOf = async (backend: MemoryBackend, name: string): Promise<Buffer> =>
  Buffer.from((await (await backend.read(name))?.arrayBuffer()) ?? new ArrayBuffer(0));

async function put(backend: MemoryBackend, name: string, bytes: Buffer): Promise<void> {
  await backend.remove(name);
  const writer = await backend.write(name);
  for (let at = 0; at < Math.max(1, bytes.length); at += CHUNK_BYTES)
    await writer.write(new Uint8Array(bytes.subarray(at, at + CHUNK_BYTES)), at);
}

async function apply(backend: MemoryBackend, damage: StoredFault['damage']): Promise<void> {
  const record = recordName(file.sha256);
  if (damage.kind === 'delete') return backend.remove(damage.what === 'file' ? file.sha256 : record);
  if (damage.kind === 'record')
    return replace(backend, record, damage.text((await bytesOf(backend, record)).toString()));
  const stored = await bytesOf(backend, file.sha256);
  if (damage.kind === 'truncate') return put(backend, file.sha256, stored.subarray(0, damage.to));
  if (damage.kind === 'flip') {
    stored[damage.at] = (stored[damage.at] ?? 0) ^ 1;
    return put(backend, file.sha256, stored);
  }
  // Of the same length, with their records: size and records fit the bytes.
  for (const [from, to] of [
    [file.sha256, other.sha256],
    [record, recordName(other.sha256)],
  ] as const) {
    const [first, second] = [await bytesOf(backend, from), await bytesOf(backend, to)];
    await put(backend, from, second);
    await put(backend, to, first);
  }
}

/** The bytes that the store vouches for. */
async function whole(store: WeightStore, wanted: WeightFile): Promise<Buffer> {
  const first = await store.file(wanted, options);
  const { blob } = (await first.intact) ? first : await store.file(wanted, options);
  return Buffer.from(await blob.arrayBuffer());
}

test.for(storedFaults)('stored bytes with this fault: $name', async ({ damage, chunksFetched }) => {
  const site = await serveFile({ body, etag: '"1"' });
  const backend = new MemoryBackend();
  await openStore(backend, site.url).file(file, options);
  if (damage.kind === 'swap') {
    site.behaviour.body = otherBody;
    await openStore(backend, site.url).file(other, options);
    site.behaviour.body = body;
  }
  await apply(backend, damage);
  site.asked.length = 0;
  const later = openStore(backend, site.url);
  expect((await whole(later, file)).equals(body)).toBe(true);
  expect(site.asked).toHaveLength(chunksFetched);
  // Found whole from then on, with nothing to fetch.
  site.asked.length = 0;
  expect(await later.missing([file])).toEqual([]);
  expect(await (await openStore(backend, site.url).file(file, options)).intact).toBe(true);
  expect(site.asked).toEqual([]);
});

test('a file that cannot be read for a while stays', async () => {
  const site = await serveFile({ body, etag: '"1"' });
  const backend = new MemoryBackend();
  await openStore(backend, site.url).file(file, options);
  const later = openStore(backend, site.url);
  const reading = vi.spyOn(Blob.prototype, 'arrayBuffer').mockRejectedValue(new RangeError('no memory'));
  const intact = later.file(file, options).then((stored) => stored.intact);
  await expect(intact).rejects.toMatchObject({ code: 'storage_failed' });
  reading.mockRestore();
  site.asked.length = 0;
  expect((await whole(later, file)).equals(body)).toBe(true);
  expect(site.asked).toEqual([]);
});

test('storage that is cleared in mid-download: the error says so, and the next download is whole', async () => {
  const site = await serveFile({ body, etag: '"1"' });
  const backend = new MemoryBackend();
  site.fault = (answer) => {
    if (answer === 1) backend.files.clear();
    return {};
  };
  const store = openStore(backend, site.url);
  await expect(store.file(file, options)).rejects.toMatchObject({
    message: expect.stringContaining('storage was cleared') as string,
    code: 'storage_failed',
  });
  expect((await whole(store, file)).equals(body)).toBe(true);
});

test('a file cut short that several callers find at once is salvaged once', async () => {
  const site = await serveFile({ body, etag: '"1"' });
  const backend = new ExclusiveBackend();
  await openStore(backend, site.url).file(file, options);
  // As it is after the engine worker has ended: nothing is open.
  await MemoryBackend.prototype.remove.call(backend, file.sha256);
  const cut = await MemoryBackend.prototype.write.call(backend, file.sha256);
  await cut.write(new Uint8Array(body.subarray(0, CHUNK_BYTES)), 0);
  site.asked.length = 0;
  const later = openStore(backend, site.url);
  const [stored] = await Promise.all([
    whole(later, file),
    later.missing([file]),
    later.storedBytes([file]),
    later.storedBytes([file]),
  ]);
  expect(stored.equals(body)).toBe(true);
  expect(site.asked).toHaveLength(2);
});
