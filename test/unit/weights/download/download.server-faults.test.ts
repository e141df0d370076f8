import { beforeAll, expect, test, vi } from 'vitest';

import { MemoryBackend } from '../../../../src/weights/backends/open-backend.ts';
import { CHUNK_BYTES } from '../../../../src/weights/backends/storage-backend.ts';
import { compressed } from '../../../support/answer-file.ts';
import { bearableFaults } from '../../../support/server-faults.ts';
import { body, fetchWeights, serve, stored } from './faulty-download.ts';

// Pauses before the next attempt, else of half a second and more.
vi.mock('../../../../src/base/async.ts', async (original) => ({
  ...(await original<object>()),
  backoff: () => 1,
}));

beforeAll(() => void compressed(body));

const { fetch } = globalThis;
/** As in Chromium, which fails a range whose answer is compressed. */
const strictFetch = async (url: string, init: RequestInit): Promise<Response> => {
  const response = await fetch(url, init);
  if (!new Headers(init.headers).has('range') || !response.headers.has('content-encoding')) return response;
  await response.body?.cancel();
  throw new TypeError('Failed to fetch');
};

test.for(bearableFaults)('a file comes whole from a server with this fault: $name', async (fault) => {
  vi.stubGlobal('fetch', strictFetch);
  const backend = new MemoryBackend();
  const site = await serve();
  site.fault = (answer) => fault.behaviour(answer, body);
  // Long where nothing is silent: a machine that stands still for as long would have chunks sent again.
  await fetchWeights(backend, site, fault.name.includes('silent') ? 2000 : 60_000);
  expect((await stored(backend)).equals(body)).toBe(true);
  expect(site.sent).toBeLessThan(body.length + fault.chunksSentTwice * CHUNK_BYTES + 1000);
});
