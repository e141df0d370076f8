import { beforeEach, expect, test, vi } from 'vitest';

import { openOpfsBackend } from '../../../../src/weights/backends/opfs-backend.ts';
import { findStored } from '../../../../src/weights/find-stored.ts';
import { readSmallFile, replace } from '../../../../src/weights/backends/storage-backend.ts';

/** Bytes that a write takes at most; 0: the disk is full. */
let accepted = Number.POSITIVE_INFINITY;
/** Number that a write returns, whatever it took. */
let returned: number | null = null;
/** Firefox closes the files of a site that is cleared, and reports its folders as an unknown error. */
let isFirefox = false;

class FakeFile {
  bytes = new Uint8Array(0);
  isClosed = false;

  async createSyncAccessHandle() {
    return {
      write: (bytes: Uint8Array, { at }: { at: number }) => {
        if (this.isClosed) throw new DOMException('closed', 'InvalidStateError');
        const taken = bytes.subarray(0, accepted);
        const grown = new Uint8Array(Math.max(this.bytes.length, at + taken.length));
        grown.set(this.bytes);
        grown.set(taken, at);
        this.bytes = grown;
        return returned ?? taken.length;
      },
      truncate: (length: number) => {
        this.bytes = this.bytes.slice(0, length);
      },
      flush: () => undefined,
      close: () => undefined,
    };
  }

  async getFile() {
    return new Blob([this.bytes]);
  }
}

/** A folder of the private file system, which the browser removes when it clears the site's storage. */
class FakeFolder {
  entries = new Map<string, FakeFolder | FakeFile>();
  gone = false;

  getDirectoryHandle = async (name: string) => this.#entry(name, () => new FakeFolder());

  getFileHandle = async (name: string, { create = false } = {}) =>
    this.#entry(name, create ? () => new FakeFile() : null);

  removeEntry = async (name: string) => void this.entries.delete(name);

  clear(): void {
    for (const entry of this.entries.values())
      if (entry instanceof FakeFile) entry.isClosed = isFirefox;
      else entry.clear();
    for (const entry of this.entries.values()) if (entry instanceof FakeFolder) entry.gone = true;
    this.entries.clear();
  }

  #entry(name: string, make: (() => FakeFolder | FakeFile) | null): FakeFolder | FakeFile {
    const entry = this.gone ? undefined : (this.entries.get(name) ?? make?.());
    if (!entry && !this.gone) throw new DOMException('missing', 'NotFoundError');
    if (!entry) throw new DOMException('gone', make || isFirefox ? 'UnknownError' : 'NotFoundError');
    this.entries.set(name, entry);
    return entry;
  }
}

let root: FakeFolder;

beforeEach(() => {
  [accepted, returned, isFirefox] = [Number.POSITIVE_INFINITY, null, false];
  root = new FakeFolder();
  vi.stubGlobal('navigator', { storage: { getDirectory: async () => root } });
  vi.stubGlobal('FileSystemFileHandle', FakeFile);
});

const open = async () => (await openOpfsBackend()) ?? Promise.reject(new Error('no backend'));

test.each([false, true])(
  'once the storage has been cleared, the same worker stores again (Firefox: %s)',
  async (firefox) => {
    isFirefox = firefox;
    const backend = await open();
    const writer = await backend.write('a');
    root.clear();
    if (firefox)
      await expect(writer.write(new Uint8Array(1), 0)).rejects.toMatchObject({ code: 'storage_failed' });
    expect(await backend.read('a')).toBeNull();
    await replace(backend, 'a', 'after');
    expect(await (await backend.read('a'))?.text()).toBe('after\n');
  },
);

test('a file that is cleared while it is written is created again before it is closed', async () => {
  const backend = await open();
  const writer = await backend.write('a');
  root.clear();
  await expect(writer.flush()).rejects.toMatchObject({ code: 'storage_failed' });
  expect((await backend.read('a'))?.size).toBe(0);
  root.clear();
  await expect(writer.close()).rejects.toMatchObject({ code: 'storage_failed' });
  expect((await backend.read('a'))?.size).toBe(0);
});

test('a file is found by its path: the last version that is complete, for its app alone', async () => {
  vi.stubGlobal('caches', { open: async () => ({ match: async () => undefined }) });
  const backend = await open();
  const files = ['old', 'new'].map((sha256) => ({ path: 'a.gguf', sha256, bytes: 6 }));
  await replace(backend, 'usage', JSON.stringify({ damaged: null, old: {}, model: { files: files } }));
  for (const { sha256 } of files) {
    await replace(backend, sha256, 'bytes');
    await replace(backend, `${sha256}.json`, '{}');
    expect(await findStored('/', 'a.gguf')).toMatchObject({ sha256 });
  }
  expect(await findStored('/other/', 'a.gguf')).toBeNull();
});

test('writes that take less than was given go on; one that takes nothing means that the storage is full', async () => {
  const backend = await open();
  accepted = 2;
  await replace(backend, 'a', 'abcde');
  expect(await (await backend.read('a'))?.text()).toBe('abcde\n');
  accepted = 0;
  await expect(replace(backend, 'b', 'abcde')).rejects.toThrow(/no more bytes/);
  // An empty record would be taken for a real one.
  accepted = Number.POSITIVE_INFINITY;
  expect(await backend.read('b')).toBeNull();
  // In a private window of Chromium whose storage is full, writes return an error as a large number.
  [accepted, returned] = [2, 2 ** 32 - 8];
  await expect(replace(backend, 'a', 'abcde')).rejects.toMatchObject({ name: 'QuotaExceededError' });
});

/** What a browser gives of a file that is replaced meanwhile. */
const refused = Object.assign(new Blob(), {
  text: () => Promise.reject(new DOMException('It has changed.', 'NotReadableError')),
});

test('a small file that is being replaced is read again', async () => {
  const states = [new Blob([]), new Blob(['{"chunks":[1']), refused, new Blob(['{"chunks":[1,2]}'])];
  const read = async () => states.shift() ?? null;
  expect(await readSmallFile({ read }, 'a')).toEqual({ chunks: [1, 2] });
  expect(states).toEqual([]);
  const unread = readSmallFile({ read: async () => refused }, 'a');
  await expect(unread).rejects.toMatchObject({ code: 'storage_failed' });
});

test('a small file that stays damaged is read in the end, one that is missing at once', async () => {
  expect(await readSmallFile({ read: async () => new Blob(['no JSON']) }, 'a')).toBeNull();
  expect(await readSmallFile({ read: async () => null }, 'a')).toBeNull();
});

test('where files are refused there is no such backend', async () => {
  vi.stubGlobal('navigator', {
    storage: { getDirectory: () => Promise.reject(new DOMException('refused', 'SecurityError')) },
  });
  expect(await openOpfsBackend()).toBeNull();
});

test('where files are neither opened nor refused, that is an error after 10 s', async () => {
  vi.stubGlobal('navigator', { storage: { getDirectory: () => new Promise(() => undefined) } });
  const late = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(late.signal);
  const opening = openOpfsBackend();
  late.abort();
  await expect(opening).rejects.toMatchObject({ code: 'storage_failed' });
  expect(timeout).toHaveBeenCalledWith(10_000);
});
