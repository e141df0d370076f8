import { afterEach, expect, test } from 'vitest';
import type { WeightFile } from '../../../src/catalog/catalog.ts';
import { MemoryShelf } from '../../../src/weights/backends/memory-backend.ts';
import { receiptName } from '../../../src/weights/integrity/integrity-record.ts';
import { PIECE_BYTES, replace, type ShelfWriter } from '../../../src/weights/backends/storage-backend.ts';
import { WeightStore } from '../../../src/weights/weight-store.ts';
import { storedFaults, type StoredFault } from '../../support/stored-faults.ts';
import { fileOf, serveFile, someBytes, type FileServer } from './file-server.ts';

const body = someBytes(5 * PIECE_BYTES + 1000);
const otherBody = Buffer.from(body.toReversed());
const file = fileOf(body);
const other = fileOf(otherBody, 'm/b.bin');
const options = { signal: new AbortController().signal, onProgress: () => undefined };

/** A file has one writer at a time, as in the origin private file system, and is not removed meanwhile. */
class ExclusiveShelf extends MemoryShelf {
  readonly #open = new Set<string>();

  override async write(name: string): Promise<ShelfWriter> {
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

let server: FileServer | null = null;
afterEach(() => server?.close());

async function bytesOf(shelf: MemoryShelf, name: string): Promise<Buffer> {
  return Buffer.from((await (await shelf.read(name))?.arrayBuffer()) ?? new ArrayBuffer(0));
}

async function put(shelf: MemoryShelf, name: string, bytes: Buffer): Promise<void> {
  await shelf.remove(name);
  const writer = await shelf.write(name);
  for (let at = 0; at < Math.max(1, bytes.length); at += PIECE_BYTES) {
    await writer.write(new Uint8Array(bytes.subarray(at, at + PIECE_BYTES)), at);
  }
}

async function apply(shelf: MemoryShelf, damage: StoredFault['damage']): Promise<void> {
  const record = receiptName(file.sha256);
  if (damage.kind === 'delete') return shelf.remove(damage.what === 'file' ? file.sha256 : record);
  if (damage.kind === 'record') {
    return replace(shelf, record, damage.text((await bytesOf(shelf, record)).toString()));
  }
  const stored = await bytesOf(shelf, file.sha256);
  if (damage.kind === 'truncate') return put(shelf, file.sha256, stored.subarray(0, damage.to));
  if (damage.kind === 'flip') {
    stored[damage.at] = (stored[damage.at] ?? 0) ^ 1;
    return put(shelf, file.sha256, stored);
  }
  // Of the same length, with their records: size and records fit the bytes.
  for (const [from, to] of [
    [file.sha256, other.sha256],
    [record, receiptName(other.sha256)],
  ] as const) {
    const [first, second] = [await bytesOf(shelf, from), await bytesOf(shelf, to)];
    await put(shelf, from, second);
    await put(shelf, to, first);
  }
}

/** The bytes that the store vouches for. */
async function whole(store: WeightStore, wanted: WeightFile): Promise<Buffer> {
  const first = await store.file(wanted, options);
  const { blob } = (await first.intact) ? first : await store.file(wanted, options);
  return Buffer.from(await blob.arrayBuffer());
}

test.for(storedFaults)('stored bytes with this fault: $name', async ({ damage, chunksFetched }) => {
  const site = (server = await serveFile({ body, etag: '"1"' }));
  const shelf = new MemoryShelf();
  await new WeightStore(shelf, site.url).file(file, options);
  if (damage.kind === 'swap') {
    site.behaviour.body = otherBody;
    await new WeightStore(shelf, site.url).file(other, options);
    site.behaviour.body = body;
  }
  await apply(shelf, damage);
  site.asked.length = 0;
  const later = new WeightStore(shelf, site.url);
  expect((await whole(later, file)).equals(body)).toBe(true);
  expect(site.asked).toHaveLength(chunksFetched);
  // Found whole from then on, with nothing to fetch.
  site.asked.length = 0;
  expect(await later.missing([file])).toEqual([]);
  expect(await (await new WeightStore(shelf, site.url).file(file, options)).intact).toBe(true);
  expect(site.asked).toEqual([]);
});

test('a file cut short that several callers find at once is salvaged once', async () => {
  const site = (server = await serveFile({ body, etag: '"1"' }));
  const shelf = new ExclusiveShelf();
  await new WeightStore(shelf, site.url).file(file, options);
  // As it is after the engine worker has ended: nothing is open.
  await MemoryShelf.prototype.remove.call(shelf, file.sha256);
  const cut = await MemoryShelf.prototype.write.call(shelf, file.sha256);
  for (const at of [0, PIECE_BYTES]) await cut.write(new Uint8Array(body.subarray(at, at + PIECE_BYTES)), at);
  site.asked.length = 0;
  const later = new WeightStore(shelf, site.url);
  const [stored] = await Promise.all([
    whole(later, file),
    later.missing([file]),
    later.storedBytes(file),
    later.storedBytes(file),
  ]);
  expect(stored.equals(body)).toBe(true);
  expect(site.asked).toHaveLength(4);
});
