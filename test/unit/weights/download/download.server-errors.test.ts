import { expect, test, vi } from 'vitest';

import { MemoryBackend } from '../../../../src/weights/backends/open-backend.ts';
import { fatalFaults } from '../../../support/server-faults.ts';
import { body, fetchWeights, file, serve, stored } from './faulty-download.ts';

// Pauses before the next attempt, else of half a second and more.
vi.mock('../../../../src/base/async.ts', async (original) => ({
  ...(await original<object>()),
  backoff: () => 1,
}));

test.for(fatalFaults)('a server with this fault, and a sound one after it: $name', async (fault) => {
  const backend = new MemoryBackend();
  const site = await serve();
  site.fault = (answer) => fault.behaviour(answer, body);
  const idleMs = fault.name.includes('silent') ? 1000 : 2000;
  const failure = await fetchWeights(backend, site, idleMs).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    message: expect.stringMatching(fault.says) as string,
    wire: { code: fault.code },
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
