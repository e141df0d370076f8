import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { WeightFile } from '../../../src/catalog/catalog.ts';
import { MemoryBackend } from '../../../src/model-files/backends/open-backend.ts';
import { requantized, tinyGguf } from './gguf/tiny-gguf.ts';
import { fileOf } from './file-server.ts';
import { openStore } from './open-store.ts';

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
  const progress: number[] = [];
  const { blob } = await store.file(file, { signal, onProgress: (bytes) => progress.push(bytes) });
  expect(new Uint8Array(await blob.arrayBuffer())).toEqual(large);
  expect(await store.storedBytes([from])).toBe(0);
  return { store, progress };
}

test('the smaller file is downloaded, requantized and dropped', async () => {
  const { store, progress } = await load();
  expect(asked).toEqual(['a.Q4_1.gguf']);
  expect(progress.at(-1)).toBe(file.bytes);
  expect(progress).toEqual(progress.toSorted((a, b) => a - b));
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
