import { expect, onTestFinished, test, vi } from 'vitest';

import { createDeferred } from '../../../../src/base/async.ts';
import { MemoryBackend } from '../../../../src/weights/backends/open-backend.ts';
import { CHUNK_BYTES } from '../../../../src/weights/backends/storage-backend.ts';
import type { WeightStore } from '../../../../src/weights/weight-store.ts';
import { openStore } from '../open-store.ts';
import { type Behaviour, fileOf, serveFile, someBytes } from '../file-server.ts';
import { never } from '../../../support/never.ts';

// Pauses before the next attempt, else of half a second and more.
vi.mock('../../../../src/base/async.ts', async (original) => ({
  ...(await original<object>()),
  backoff: () => 100,
}));

const body = someBytes(5 * CHUNK_BYTES + 1000);
const short = body.subarray(0, 3000);
const file = fileOf(body);

async function setUp(behaviour: Partial<Behaviour> = {}) {
  const server = await serveFile({ body, etag: '"1"', ...behaviour });
  const backend = new MemoryBackend();
  return { server, backend, store: openStore(backend, server.url) };
}

const whole = async (blob: Blob): Promise<boolean> => Buffer.from(await blob.arrayBuffer()).equals(body);
const load = (store: WeightStore) => store.file(file, { signal: never, onProgress: () => undefined });
const loadsWhole = async (store: WeightStore): Promise<boolean> => whole((await load(store)).blob);

/** Downloads until that many bytes have come, and then aborts. */
async function downloadPart(store: WeightStore, bytes: number): Promise<void> {
  const abort = new AbortController();
  const onProgress = (loadedBytes: number): void => {
    if (loadedBytes >= bytes) abort.abort(new Error('enough'));
  };
  await expect(store.file(file, { signal: abort.signal, onProgress })).rejects.toThrow('enough');
}

const chunkRange = (index: number): string =>
  `bytes=${index * CHUNK_BYTES}-${Math.min((index + 1) * CHUNK_BYTES, body.length) - 1}`;

test('a large file comes over several connections, in chunks, and adds up', async () => {
  const { server: site, store } = await setUp({ delayMs: 100 });
  const progress: number[] = [];
  const { blob } = await store.file(file, {
    signal: never,
    onProgress: (loadedBytes) => progress.push(loadedBytes),
  });
  expect(await whole(blob)).toBe(true);
  expect(site.asked.toSorted()).toEqual([0, 1, 2, 3, 4, 5].map(chunkRange).toSorted());
  expect(site.most).toBe(4);
  expect(progress).toEqual(progress.toSorted((a, b) => a - b));
  expect(progress.at(-1)).toBe(body.length);
});

test('no range is cancelled: every body is read to its end', async () => {
  const bodies = { ended: 0, cancelled: 0 };
  vi.stubGlobal('fetch', async (_url: string, { headers }: { headers: { range: string } }) => {
    const [, from = 0, to = 0] = (/(\d+)-(\d+)/.exec(headers.range) ?? []).map(Number);
    const parts = [body.subarray(from, to + 1)];
    const stream = new ReadableStream(
      {
        pull(controller) {
          const part = parts.pop();
          if (part) return controller.enqueue(part);
          controller.close();
          bodies.ended++;
        },
        cancel: () => void bodies.cancelled++,
      },
      { highWaterMark: 0 },
    );
    const range = { 'content-range': `bytes ${from}-${to}/${body.length}` };
    return new Response(stream, { status: 206, headers: range });
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  expect(await loadsWhole(store)).toBe(true);
  expect(bodies).toEqual({ ended: 6, cancelled: 0 });
});

test('an aborted download goes on with the chunks that are missing, in a later worker too', async () => {
  const { server: site, backend, store } = await setUp({ delayMs: 5 });
  await downloadPart(store, 3 * CHUNK_BYTES);
  site.asked.length = 0;
  const write = backend.write.bind(backend);
  backend.write = async (name) => {
    const writer = await write(name);
    // The rest is requested before the stored bytes are read and hashed.
    const requested = () => vi.waitFor(() => expect(site.asked).not.toEqual([]));
    return { ...writer, read: (...args) => requested().then(() => writer.read(...args)) };
  };
  expect(await loadsWhole(openStore(backend, site.url))).toBe(true);
  expect(site.asked).not.toContain(chunkRange(0));
  expect(site.asked.length).toBeLessThan(6);
});

test('bytes of a chunk that is not whole are kept, for a later worker and under another ETag too', async () => {
  const { server: site, backend, store } = await setUp({ cutAfter: 2 ** 20 });
  await downloadPart(store, 2.5 * 2 ** 20);
  const kept = await store.storedBytes([file]);
  expect(kept).toBeGreaterThanOrEqual(2 * 2 ** 20);
  delete site.behaviour.cutAfter;
  site.behaviour.etag = '"2"';
  await vi.waitFor(() => expect(site.open).toBe(0));
  site.sent = 0;
  expect(await loadsWhole(openStore(backend, site.url))).toBe(true);
  expect(site.sent).toBe(body.length - kept);
});

test('a part of a chunk that was torn: the file is downloaded again', async () => {
  const { server: site, backend, store } = await setUp({ cutAfter: 2 ** 20 });
  delete site.behaviour.etag;
  await downloadPart(store, 2.5 * 2 ** 20);
  delete site.behaviour.cutAfter;
  const writer = await backend.write(file.sha256);
  await writer.write(new Uint8Array(CHUNK_BYTES), 0);
  expect(await loadsWhole(openStore(backend, site.url))).toBe(true);
});

test.each([0, 99])(
  'a server of another origin that compresses, and hides it: %i bytes more',
  async (more) => {
    const { server: site, store } = await setUp({ gzip: true });
    const fetchHere = globalThis.fetch;
    vi.stubGlobal('fetch', async (...request: Parameters<typeof fetch>) => {
      const { body: stream, status, headers: all } = await fetchHere(...request);
      const headers = new Headers([...all].filter(([name]) => /^content-(length|type)$/.test(name)));
      if (more > 0) headers.set('content-length', String(body.length + more));
      return new Response(stream, { status, headers });
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(await loadsWhole(store)).toBe(true);
    expect(site.asked.filter((range) => range === undefined)).toHaveLength(1);
  },
);

test('a server of which some machines have no ranges: the rest comes over one connection', async () => {
  let answers = 0;
  const whole200 = { open: 0, most: 0, sent: 0 };
  vi.stubGlobal('fetch', async (_url: string, { headers }: { headers: { range: string } }) => {
    const [, from = 0, to = 0] = (/(\d+)-(\d+)/.exec(headers.range) ?? []).map(Number);
    if (answers++ === 0)
      return new Response(new Uint8Array(body.subarray(from, to + 1)), {
        status: 206,
        headers: { 'content-range': `bytes ${from}-${to}/${body.length}` },
      });
    let at = 0;
    const stream = new ReadableStream(
      {
        pull(controller) {
          if (at === 0) whole200.most = Math.max(whole200.most, ++whole200.open);
          const part = body.subarray(at, at + 2 ** 20);
          at += part.length;
          whole200.sent += part.length;
          if (part.length > 0) return controller.enqueue(part);
          whole200.open--;
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(stream);
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  expect(await loadsWhole(store)).toBe(true);
  expect(whole200).toEqual({ open: 0, most: 1, sent: body.length });
});

test('a range that arrives after another connection has stored a part of its chunk', async () => {
  const later = createDeferred();
  let answers = 0;
  /** Bytes of the file; after `sent` of them, the connection breaks. */
  const answer = (status: number, [from, to]: [number, number], sent = to - from): Response => {
    const part = new Uint8Array(body.subarray(from, from + sent));
    const stream = new ReadableStream({
      start: (controller) => controller.enqueue(part),
      pull: (controller) => (sent < to - from ? controller.error(new TypeError('cut')) : controller.close()),
    });
    const range = { 'content-range': `bytes ${from}-${to - 1}/${body.length}` };
    const extent = status === 206 ? range : { 'content-length': String(body.length) };
    return new Response(stream, { status, headers: { etag: '"1"', ...extent } });
  };
  vi.stubGlobal('fetch', async (_url: string, { headers }: { headers: { range: string } }) => {
    const [, first, last] = (/(\d+)-(\d+)/.exec(headers.range) ?? []).map(Number);
    const range: [number, number] = [first ?? 0, (last ?? body.length - 1) + 1];
    const count = answers++;
    if (count === 1) {
      await later.promise;
      return answer(206, range, 0.4 * CHUNK_BYTES);
    }
    if (count === 2 || count === 3 || count === 4) return answer(200, [0, body.length]);
    if (count === 5) return answer(200, [0, body.length], 1.5 * CHUNK_BYTES);
    if (count > 5) later.resolve();
    return answer(206, range);
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const store = openStore(new MemoryBackend(), 'http://site.test/');
  expect(await loadsWhole(store)).toBe(true);
});

test.each([
  ['is full as a file is closed', 'close', 'QuotaExceededError', 'storage_full'],
  ['refuses each write', 'write', 'UnknownError', 'weights_unavailable'],
] as const)('a storage that %s: no file stays open', async (_, call, name, code) => {
  const { server: site } = await setUp();
  const backend = new MemoryBackend();
  const open = new Set<string>();
  const write = backend.write.bind(backend);
  backend.write = async (path) => {
    open.add(path);
    const writer = { ...(await write(path)), close: async () => void open.delete(path) };
    const { [call]: work } = writer;
    const failing = async (bytes: Uint8Array<ArrayBuffer>, at: number): Promise<void> => {
      await work(bytes, at);
      if (path === file.sha256) throw new DOMException('refused', name);
    };
    return { ...writer, [call]: failing };
  };
  const loading = load(openStore(backend, site.url));
  await expect(loading).rejects.toMatchObject({ wire: { code } });
  expect([...open]).toEqual([]);
});

test('a server that ignores the range of a later visit: the chunks that are there are kept', async () => {
  const { server: site, backend, store } = await setUp();
  await downloadPart(store, 2 * CHUNK_BYTES);
  site.behaviour.ignoresRange = true;
  site.asked.length = 0;
  expect(await loadsWhole(openStore(backend, site.url))).toBe(true);
});

test('a file that has changed since: restarted, and its old chunks are not mixed in', async () => {
  const { server: site, backend, store } = await setUp();
  const changed = Buffer.from(body);
  changed[7] = (changed[7] ?? 0) ^ 1;
  site.behaviour.body = changed;
  site.behaviour.etag = '"0"';
  await downloadPart(store, 2 * CHUNK_BYTES);
  site.behaviour = { body, etag: '"1"' };
  expect(await loadsWhole(openStore(backend, site.url))).toBe(true);
});

test.each<[string, Partial<Behaviour>, RegExp]>([
  ['longer', { body: someBytes(body.length + 1) }, /m\/a\.bin has \d+ bytes, which is not what/],
  ['shorter', { body: short }, /m\/a\.bin has 3000 bytes, which is not what/],
  ['shorter, in one answer', { body: short, ignoresRange: true }, /has 3000 bytes/],
  ['shorter, of no length', { body: short, ignoresRange: true, hidesRange: true }, /has 3000 bytes/],
  ['other bytes', { body: Buffer.alloc(body.length) }, /m\/a\.bin does not have the SHA-256/],
])('a file on the server that is %s: an error that names it', async (_, behaviour, message) => {
  const { backend, store } = await setUp(behaviour);
  const failure = load(store);
  await expect(failure).rejects.toMatchObject({
    message: expect.stringMatching(message) as string,
    wire: { code: 'weights_corrupt' },
  });
  expect(await store.missing([file])).toEqual([file]);
  expect((await backend.read(file.sha256))?.size ?? 0).toBeLessThan(body.length);
});

test('no answer at all: said with the causes, of which CORS is one', async () => {
  const { server: site, store } = await setUp();
  await site.close();
  await expect(load(store)).rejects.toMatchObject({
    message: expect.stringMatching(
      /m\/a\.bin .*the connection failed, .*extension.*\(CORS\) .*connect-src.*0 of/,
    ) as string,
    wire: { code: 'weights_unavailable' },
  });
});

test('pause holds a download for all who wait, resume lets it go on', async () => {
  const { server: site, store } = await setUp({ delayMs: 20 });
  let loaded = 0;
  let once = false;
  const onProgress = (loadedBytes: number): void => {
    loaded = loadedBytes;
    if (loadedBytes < 2 * CHUNK_BYTES || once) return;
    once = true;
    store.pause([file]);
  };
  const first = store.file(file, { signal: never, onProgress });
  const second = load(store);
  await expect.poll(() => store.paused([file])).toBe(true);
  await expect.poll(() => site.open).toBe(0);
  const atPause = loaded;
  const asked = site.asked.length;
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([loaded, site.asked.length]).toEqual([atPause, asked]);
  expect(loaded).toBeLessThan(body.length);
  store.resume([file]);
  expect(await whole((await first).blob)).toBe(true);
  expect(await whole((await second).blob)).toBe(true);
  expect(site.asked.filter((range) => range === chunkRange(0))).toHaveLength(1);
});

test('cancel gives a download up for all who wait, and drops what has come', async () => {
  const { backend, store } = await setUp({ delayMs: 30 });
  let cancelled: Promise<void> | null = null;
  const onProgress = () => void (cancelled ??= store.cancel([file]));
  const waiting = [1, 2].map(() => store.file(file, { signal: never, onProgress }));
  const outcomes = await Promise.allSettled(waiting);
  await cancelled;
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { wire: { code: 'download_cancelled' } } });
  expect([...backend.files.keys()]).toEqual([]);
});
