import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { Variant } from '../../../src/catalog/catalog.ts';
import { openCrossOriginStorage } from '../../../src/util/cross-origin-storage.ts';
import { MemoryBackend } from '../../../src/model-files/backends/open-backend.ts';
import { CrossOriginSource } from '../../../src/model-files/cross-origin-source.ts';
import { WeightSources } from '../../../src/model-files/sources/weight-sources.ts';
import { WeightStore } from '../../../src/model-files/weight-store.ts';
import { FakeCrossOriginStorage } from '../../support/fake-cross-origin-storage.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { fileOf, someBytes } from './file-server.ts';

const bytes = someBytes(1_500_000);
const file = fileOf(bytes);
const hash = file.sha256;
const options = { signal: new AbortController().signal, onProgress: () => undefined };
const FROM = 'https://a.example/models/m/a.bin';

let storage: FakeCrossOriginStorage;
let fetched: ReturnType<typeof vi.fn>;
let warned: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  storage = new FakeCrossOriginStorage();
  fetched = vi.fn(async () => new Response(bytes));
  vi.stubGlobal('fetch', fetched);
  warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
  warned.mockRestore();
});

/** The store of a page of that origin that has just started. */
function open(origin: string, backend: MemoryBackend, manager = storage.managerOf(origin)): WeightStore {
  const shared = openCrossOriginStorage({ crossOriginStorage: manager });
  return new WeightStore(backend, `${origin}/models/`, new FakeLocks().manager, '/', {
    shared: shared && new CrossOriginSource(shared),
  });
}
const A = 'https://a.example';
const B = 'https://b.example';

async function load(store: WeightStore, which = file) {
  const { blob, from, intact } = await store.file(which, options);
  expect(Buffer.from(await blob.arrayBuffer()).equals(bytes)).toBe(await intact);
  return { from, intact: await intact };
}

/** An entry with these bytes, which need not be of its hash. */
const put = (content: Uint8Array<ArrayBuffer> = bytes): unknown =>
  storage.entries.set(hash, { bytes: new Blob([content]), storedBy: A, everyone: true });

test('what one origin downloads, another reads in place: neither keeps a copy', async () => {
  const [ofA, ofB] = [new MemoryBackend(), new MemoryBackend()];
  expect(await load(open(A, ofA), file)).toEqual({ from: FROM, intact: true });
  expect(storage.asked).toEqual([`read ${hash}`, `create ${hash}`, `read ${hash}`]);
  expect(await load(open(B, ofB), file)).toEqual({ from: 'cross-origin-storage', intact: true });
  expect(fetched).toHaveBeenCalledTimes(1);
  for (const [origin, backend] of [
    [A, ofA],
    [B, ofB],
  ] as const) {
    expect([...backend.files.keys()]).not.toContain(hash);
    const later = open(origin, backend);
    expect(await later.missing([file])).toEqual([]);
    expect([await later.storedBytes([file]), await later.sharedBytes([file])]).toEqual([0, file.bytes]);
    expect(await later.room([file])).toEqual({ needed: 0, free: null });
    expect(await load(later)).toMatchObject({ intact: true });
  }
  expect(fetched).toHaveBeenCalledTimes(1);
});

test('once it is gone from there, it is downloaded as usual, and written again', async () => {
  const backend = new MemoryBackend();
  await load(open(A, backend));
  storage.entries.clear();
  expect(await load(open(A, backend))).toEqual({ from: FROM, intact: true });
  expect(fetched).toHaveBeenCalledTimes(2);
  expect(storage.entries.get(hash)?.bytes?.size).toBe(file.bytes);
});

test('without the API, a file that lies there counts as missing, and is downloaded', async () => {
  const backend = new MemoryBackend();
  await load(open(A, backend));
  const without = new WeightStore(backend, `${A}/models/`, new FakeLocks().manager, '/');
  expect(await without.missing([file])).toEqual([file]);
  await load(without);
  expect(fetched).toHaveBeenCalledTimes(2);
  expect([...backend.files.keys()]).toContain(hash);
  expect(openCrossOriginStorage({})).toBeNull();
});

test('a file that is there, and in part here, counts once, and takes nothing from what else is missing', async () => {
  const [backend, other] = [new MemoryBackend(), new MemoryBackend()];
  const large = someBytes(9_000_000);
  const there = fileOf(large);
  fetched.mockImplementation(async () => new Response(large));
  await open(A, backend).file(there, options);
  const part = new AbortController();
  const onProgress = ({ loadedBytes }: { loadedBytes: number }): void => {
    if (loadedBytes > 2 ** 22) part.abort();
  };
  const without = new WeightStore(other, `${A}/models/`, new FakeLocks().manager, '/');
  await without.file(there, { signal: part.signal, onProgress }).catch(() => undefined);
  for (const [name, blob] of other.files) if (!backend.files.has(name)) backend.files.set(name, blob);
  const store = open(A, backend);
  const files = [there, file];
  expect(await store.storedBytes(files)).toBeGreaterThan(0);
  expect((await store.storedBytes(files)) + (await store.sharedBytes(files))).toBe(there.bytes);
  expect(await store.room(files)).toMatchObject({ needed: file.bytes });
  const sources = new WeightSources(() => Promise.resolve(store), `${A}/models/`);
  const variant: Variant = { engine: 'wllama', name: 'v', license: 'MIT', contextLength: 9, files };
  expect(await sources.missingBytes(variant)).toBe(file.bytes);
});

test.each<[string, () => void]>([
  ['permission is refused', () => (storage.allowed = false)],
  [
    'another page is writing the file',
    () => storage.entries.set(hash, { bytes: null, storedBy: B, everyone: true }),
  ],
])('when %s, the file is downloaded, and not written', async (_, prepare) => {
  prepare();
  const backend = new MemoryBackend();
  expect(await load(open(A, backend))).toEqual({ from: FROM, intact: true });
  expect(storage.asked).toEqual([`read ${hash}`]);
  expect([...backend.files.keys()]).toContain(hash);
  expect(warned).not.toHaveBeenCalled();
});

test('a write that fails leaves the file in this site’s storage', async () => {
  storage.quotaBytes = 10;
  const backend = new MemoryBackend();
  expect(await load(open(A, backend))).toEqual({ from: FROM, intact: true });
  expect([...backend.files.keys()]).toContain(hash);
  // Stored here, it is not asked for again.
  storage.asked.length = 0;
  await load(open(A, backend));
  expect(storage.asked).toEqual([]);
});

test.each([
  ['of other bytes', someBytes(1_500_000).map((byte) => byte ^ 1)],
  ['of another length', someBytes(1_400_000)],
])('an entry %s is caught by its hash: the file is downloaded, and nothing is written', async (_, lie) => {
  put(Buffer.from(lie));
  const backend = new MemoryBackend();
  expect(await load(open(A, backend))).toEqual({ from: FROM, intact: true });
  expect(storage.asked).toEqual([`read ${hash}`]);
  expect([...backend.files.keys()]).toContain(hash);
  expect(warned.mock.calls.flat().join()).toContain('cross-origin storage has other bytes than m/a.bin');
});

test('an entry that changes after it was found whole is caught at the next load, which downloads', async () => {
  const backend = new MemoryBackend();
  await load(open(A, backend));
  put(Buffer.from(bytes.map((byte, at) => (at === 1_400_000 ? byte ^ 1 : byte))));
  const store = open(A, backend);
  expect((await load(store)).intact).toBe(false);
  expect(await load(store)).toEqual({ from: FROM, intact: true });
  expect(fetched).toHaveBeenCalledTimes(2);
});

test('one that takes what is written, and gives back something else, keeps no file from this site', async () => {
  const manager = storage.managerOf(A);
  const honest = manager.requestFileHandle.bind(manager);
  manager.requestFileHandle = async (...question) => {
    const handle = await honest(...question);
    return question[1]?.create
      ? handle
      : { ...handle, getFile: async () => new Blob([new Uint8Array(file.bytes)]) };
  };
  const backend = new MemoryBackend();
  expect(await load(open(A, backend, manager))).toEqual({ from: FROM, intact: true });
  expect([...backend.files.keys()]).toContain(hash);
});

test('a download that was interrupted is replaced by what is found there', async () => {
  const backend = new MemoryBackend();
  fetched.mockImplementationOnce(async () => new Response(null, { status: 404 }));
  await expect(open(A, backend).file(file, options)).rejects.toMatchObject({
    wire: { code: 'weights_unavailable' },
  });
  put();
  expect(await load(open(A, backend))).toEqual({ from: 'cross-origin-storage', intact: true });
  expect([...backend.files.keys()]).not.toContain(hash);
});

test('small files are not asked for, and models of the user’s are not written', async () => {
  const little = fileOf(someBytes(1000), 'm/config.json');
  fetched.mockImplementationOnce(async () => new Response(someBytes(1000)));
  await open(A, new MemoryBackend()).file(little, options);
  expect(storage.asked).toEqual([]);
  await load(open(A, new MemoryBackend()), { ...file, path: `added/${hash}.gguf` });
  expect(storage.asked).toEqual([`read ${hash}`]);
});

test('an implementation of the earlier draft, with lists, is used too', async () => {
  const { requestFileHandle } = storage.managerOf(B);
  put();
  const draft = {
    requestFileHandles: async (hashes: Parameters<typeof requestFileHandle>[0][]) =>
      Promise.all(hashes.map((each) => requestFileHandle(each))),
  };
  const files = openCrossOriginStorage({ crossOriginStorage: draft });
  expect(await files?.read(hash)).toBeInstanceOf(Blob);
});

const never = () => new Promise<never>(() => undefined);
const fail = (): never => {
  throw new Error('broken');
};

test.each<[string, () => unknown]>([
  ['gives no handle', never],
  ['throws', fail],
  ['gives nothing', async () => undefined],
  ['gives a handle without methods', async () => ({})],
  ['never reads the file', async () => ({ getFile: never })],
  ['throws as it reads the file', async () => ({ getFile: fail })],
  ['gives no file', async () => ({ getFile: async () => ({ size: file.bytes, stream: () => null }) })],
  ['rejects with nothing', async () => ({ getFile: () => Promise.reject(undefined) })],
])('an implementation that %s is given up after 10 s at most', async (_, requestFileHandle) => {
  vi.useFakeTimers();
  const files = openCrossOriginStorage({ crossOriginStorage: { requestFileHandle } as never });
  const answer = files?.read(hash);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await answer).toBe('refused');
  vi.useRealTimers();
});
