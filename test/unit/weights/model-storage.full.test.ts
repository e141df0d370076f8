import { expect, test, vi } from 'vitest';

import { MemoryBackend, openBackend } from '../../../src/weights/backends/open-backend.ts';
import { type BackendWriter, CHUNK_BYTES } from '../../../src/weights/backends/storage-backend.ts';
import { openStore } from './open-store.ts';
import { fileOf, serveFile, someBytes } from './file-server.ts';

const body = someBytes(CHUNK_BYTES + 1000);
const file = fileOf(body);
const options = { signal: new AbortController().signal, onProgress: () => undefined };

/** What Firefox's files and caches throw on a full storage: no Error. */
const FIREFOX: unknown = { name: 'NS_ERROR_FILE_NO_DEVICE_SPACE', message: '' };

/** Storage that is full from its n-th change on: opening, growing, writing, flushing and closing fail, as they do in browsers. */
class FullBackend extends MemoryBackend {
  changes = 0;
  fullFrom = Number.POSITIVE_INFINITY;

  override async write(name: string): Promise<BackendWriter> {
    this.#change();
    const writer = await super.write(name);
    const { write, resize, flush, close } = writer;
    return {
      ...writer,
      write: (bytes, at) => this.#then(() => write(bytes, at)),
      resize: (bytes) => this.#then(() => resize(bytes)),
      flush: () => this.#then(flush),
      close: () => this.#then(close),
    };
  }

  async #then(work: () => Promise<void>): Promise<void> {
    this.#change();
    await work();
  }

  #change(): void {
    if (++this.changes > this.fullFrom) throw FIREFOX;
  }
}

test('storage that is full from any change on: storage_full, and all is well once there is room', async () => {
  const site = await serveFile({ body, etag: '"1"' });
  const sound = new FullBackend();
  await openStore(sound, site.url).file(file, options);
  expect(sound.changes).toBeGreaterThan(15);
  for (let fullFrom = 0; fullFrom < sound.changes; fullFrom++) {
    const backend = new FullBackend();
    backend.fullFrom = fullFrom;
    const failure: unknown = await openStore(backend, site.url)
      .file(file, options)
      .catch((error: unknown) => error);
    expect(failure, `full from change ${fullFrom} on`).toMatchObject({
      message: expect.stringMatching(/storage is full: m\/a\.bin \(\d+ bytes\) did not fit/) as string,
      wire: { code: 'storage_full' },
    });
    backend.fullFrom = Number.POSITIVE_INFINITY;
    const { blob, intact } = await openStore(backend, site.url).file(file, options);
    expect(await intact).toBe(true);
    expect(Buffer.from(await blob.arrayBuffer()).equals(body)).toBe(true);
  }
});

test("Firefox's own error of a full Cache API: storage_full, after one attempt", async () => {
  const site = await serveFile({ body, etag: '"1"' });
  const cache = { keys: async () => [], match: async () => undefined, put: () => Promise.reject(FIREFOX) };
  vi.stubGlobal('caches', { open: async () => cache });
  const failure = openStore(await openBackend(), site.url).file(file, options);
  await expect(failure).rejects.toMatchObject({ wire: { code: 'storage_full' } });
  expect(site.asked).toHaveLength(1);
});

test('no room for the record of a file that has come: nothing is fetched again once there is', async () => {
  const site = await serveFile({ body, etag: '"1"' });
  const sound = new FullBackend();
  await openStore(sound, site.url).file(file, options);
  const backend = new FullBackend();
  // The record is written last: opened, written, cut, flushed and closed.
  backend.fullFrom = sound.changes - 5;
  await expect(openStore(backend, site.url).file(file, options)).rejects.toMatchObject({
    wire: { code: 'storage_full' },
  });
  backend.fullFrom = Number.POSITIVE_INFINITY;
  site.asked.length = 0;
  const later = openStore(backend, site.url);
  expect(await later.storedBytes([file])).toBe(file.bytes);
  expect(await (await later.file(file, options)).intact).toBe(true);
  expect(site.asked).toEqual([]);
});
