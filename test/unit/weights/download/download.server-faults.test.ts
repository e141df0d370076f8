import { beforeAll, expect, test, vi } from 'vitest';

import { download } from '../../../../src/weights/download/download.ts';
import { MemoryBackend } from '../../../../src/weights/backends/open-backend.ts';
import { CHUNK_BYTES } from '../../../../src/weights/backends/storage-backend.ts';
import { compressed } from '../../../support/answer-file.ts';
import { serverFaults } from '../../../support/server-faults.ts';
import { fileOf, type FileServer, serveFile, someBytes } from '../file-server.ts';

// Pauses before the next attempt, else of half a second and more.
vi.mock('../../../../src/base/async.ts', async (original) => ({
  ...(await original<object>()),
  backoff: () => 1,
}));

const body = someBytes(3 * CHUNK_BYTES + 1000);
const file = fileOf(body);

beforeAll(() => void compressed(body));

const serve = () => serveFile({ body, etag: '"new"' });

async function fetchWeights(
  backend: MemoryBackend,
  { url }: FileServer,
  idleTimeoutMs = 2000,
): Promise<void> {
  const signal = new AbortController().signal;
  await download(backend, file, { url, name: 'x', signal, idleTimeoutMs, onProgress: () => undefined });
}

const stored = async (backend: MemoryBackend): Promise<Buffer> =>
  Buffer.from((await (await backend.read('x'))?.arrayBuffer()) ?? new ArrayBuffer(0));

test.for(serverFaults)('a server with this fault: $name', async ({ name, behaviour, expected }) => {
  const backend = new MemoryBackend();
  const site = await serve();
  site.fault = (answer) => behaviour(answer, body);
  if ('chunksSentTwice' in expected) {
    // Long where nothing is silent: a machine that stands still for as long would have chunks sent again.
    await fetchWeights(backend, site, name.includes('silent') ? 2000 : 60_000);
    expect((await stored(backend)).equals(body)).toBe(true);
    expect(site.sent).toBeLessThan(body.length + expected.chunksSentTwice * CHUNK_BYTES + 1000);
    return;
  }
  const failure = await fetchWeights(backend, site).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    message: expect.stringMatching(expected.says) as string,
    wire: { code: expected.code },
  });
  expect(String(failure)).toContain(file.path);
  // Nothing of a web page or of another file is stored; what came before a failure is kept.
  const kept = await stored(backend);
  expect(kept.equals(body.subarray(0, kept.length))).toBe(true);
  // Another server, as an answer of the first may still be under way.
  const whole = await serve();
  await fetchWeights(backend, whole, 60_000);
  expect((await stored(backend)).equals(body)).toBe(true);
  expect(whole.sent).toBeLessThanOrEqual(body.length - kept.length);
});
