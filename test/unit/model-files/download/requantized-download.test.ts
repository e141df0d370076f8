import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { WeightFile } from '../../../../src/catalog/catalog.ts';
import { CHUNK_BYTES } from '../../../../src/model-files/backends/storage-backend.ts';
import { MemoryBackend } from '../../../../src/model-files/backends/open-backend.ts';
import { PartialFile } from '../../../../src/model-files/download/partial-file.ts';
import { requantized, tinyGguf } from '../gguf/tiny-gguf.ts';
import { fileOf } from '../file-server.ts';
import { openStore } from '../open-store.ts';

const small = tinyGguf();
const from = fileOf(Buffer.from(small), 'm/a.Q4_1.gguf');
const large = await requantized(small);
const file: WeightFile = { ...fileOf(Buffer.from(large), 'm/a.Q8_0.gguf'), requantizedFrom: from };
const signal = new AbortController().signal;

/** By the name of the file: what the site answers. */
let site: Record<string, Uint8Array<ArrayBuffer> | number>;
let asked: string[];

beforeEach(() => {
  site = { 'a.Q4_1.gguf': small, 'a.Q8_0.gguf': large };
  asked = [];
  vi.stubGlobal('fetch', async (url: string) => {
    const name = url.split('/').at(-1) ?? '';
    asked.push(name);
    const answer = site[name];
    return typeof answer === 'number' ? new Response('', { status: answer }) : new Response(answer);
  });
});
afterEach(() => vi.unstubAllGlobals());

async function load(backend = new MemoryBackend()) {
  const store = openStore(backend, 'http://site.test/models/');
  const progress: { phase: string; loaded: number; total: number }[] = [];
  const { blob } = await store.file(file, {
    signal,
    onProgress: (loaded, total, phase) => progress.push({ phase, loaded, total }),
  });
  expect(new Uint8Array(await blob.arrayBuffer())).toEqual(large);
  expect(await store.storedBytes([from])).toBe(0);
  return { store, progress };
}

test('the smaller file is downloaded, requantized and dropped', async () => {
  const { store, progress } = await load();
  expect(asked).toEqual(['a.Q4_1.gguf']);
  // What comes over the network is counted; making the other file of it is counted by itself.
  const downloaded = progress.filter(({ phase }) => phase === 'download');
  expect(downloaded.at(-1)).toEqual({ phase: 'download', loaded: from.bytes, total: from.bytes });
  expect(progress.slice(0, downloaded.length)).toEqual(downloaded);
  expect(progress.slice(downloaded.length).map(({ phase }) => phase)).not.toContain('download');
  expect(progress.at(-1)).toEqual({ phase: 'prepare', loaded: file.bytes, total: file.bytes });
  expect(await store.storedBytes([file])).toBe(file.bytes);
  expect(await (await store.file(file, { signal, onProgress: () => undefined })).intact).toBe(true);
  expect(asked).toHaveLength(1);
});

test.each([
  ['is not on the site', 404],
  ['is another file', large],
  ['has the right length and other bytes', small.map((byte) => byte ^ 1)],
])('a smaller file that %s: the file itself is downloaded', async (_, answer) => {
  site['a.Q4_1.gguf'] = answer;
  await load();
  expect(asked.at(-1)).toBe('a.Q8_0.gguf');
});

test('where there is no room for both, the file itself is downloaded', async () => {
  const backend = new MemoryBackend();
  vi.spyOn(backend, 'free').mockResolvedValue(file.bytes);
  await load(backend);
  expect(asked).toEqual(['a.Q8_0.gguf']);
});

test('a site without the file itself: the rest of a download that has begun is requantized', async () => {
  const backend = new MemoryBackend();
  // Of two chunks.
  const given = tinyGguf(Math.ceil(CHUNK_BYTES / 34) + 1);
  const wanted = await requantized(given);
  const source = fileOf(Buffer.from(given), 'm/b.Q4_1.gguf');
  const target = { ...fileOf(Buffer.from(wanted), 'm/b.Q8_0.gguf'), requantizedFrom: source };
  const partial = await PartialFile.open(backend, target.sha256, target.bytes);
  await partial.store(0, wanted.slice(0, partial.lengthOf(0)), signal);
  await partial.close();
  site = { 'b.Q4_1.gguf': given, 'b.Q8_0.gguf': 404 };
  const store = openStore(backend, 'http://site.test/models/');
  const { blob } = await store.file(target, { signal, onProgress: () => undefined });
  expect(await blob.arrayBuffer()).toEqual(wanted.buffer);
  expect(asked).toEqual(['b.Q8_0.gguf', 'b.Q4_1.gguf']);
});

test('a site without the file itself, and no room for both: the storage is full', async () => {
  const backend = new MemoryBackend();
  vi.spyOn(backend, 'free').mockResolvedValue(file.bytes);
  site['a.Q8_0.gguf'] = 404;
  await expect(load(backend)).rejects.toMatchObject({ code: 'storage_full' });
});

test('where the result does not fit beside what it is made of, the file itself is downloaded', async () => {
  const backend = new MemoryBackend();
  const write = backend.write.bind(backend);
  vi.spyOn(backend, 'write').mockImplementation(async (name) => {
    if (name === file.sha256 && (await backend.read(from.sha256)))
      throw new DOMException('full', 'QuotaExceededError');
    return write(name);
  });
  await load(backend);
  expect(asked).toEqual(['a.Q4_1.gguf', 'a.Q8_0.gguf']);
});

test('a smaller file from which another one comes is no way to that one', async () => {
  const other = { ...file, sha256: '0'.repeat(64) };
  const store = openStore(new MemoryBackend(), 'http://site.test/models/');
  const loading = store.file(other, { signal, onProgress: () => undefined });
  await expect(loading).rejects.toMatchObject({ code: 'weights_corrupt' });
  expect(asked).toContain('a.Q8_0.gguf');
  expect(await store.storedBytes([other])).toBe(0);
});

test('deleting the file deletes what was downloaded for it', async () => {
  const backend = new MemoryBackend();
  const store = openStore(backend, 'http://site.test/models/');
  await store.file(from, { signal, onProgress: () => undefined });
  expect(await store.storedBytes([file])).toBe(from.bytes);
  await store.delete(file);
  expect(await store.storedBytes([file])).toBe(0);
});
