import { expect, test } from 'vitest';
import { pauseBeforeRetry, TransientStatusError, withRetries } from '../../../src/base/retry.ts';
import { sleep, virtualTime } from '../../support/virtual-time.ts';

virtualTime();

const busy = (retryAfter?: string): TransientStatusError =>
  new TransientStatusError(
    new Response(null, {
      status: 503,
      headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
    }),
  );

test('pauses double, and are random by a half', () => {
  const pauses = Array.from({ length: 50 }, () =>
    [1, 2, 3].map((failures) => pauseBeforeRetry(failures, busy())),
  );
  for (const [first = 0, second = 0, third = 0] of pauses) {
    expect(first).toBeGreaterThanOrEqual(250);
    expect(first).toBeLessThan(500);
    expect(second).toBeGreaterThanOrEqual(500);
    expect(second).toBeLessThan(1000);
    expect(third).toBeLessThan(2000);
  }
  expect(new Set(pauses.map(([first]) => first)).size).toBeGreaterThan(1);
});

test.each([
  ['seconds', '4', 4000],
  ['a date', new Date(Date.now() + 5000).toUTCString(), 3000],
  ['more than the bound', '3600', 10_000],
])('Retry-After in %s is honoured', (_, header, atLeast) => {
  const pause = pauseBeforeRetry(1, busy(header));
  expect(pause).toBeGreaterThanOrEqual(atLeast);
  expect(pause).toBeLessThanOrEqual(10_000);
});

test.each(['soon', '-5', 'Thu, 01 Jan 1970 00:00:00 GMT'])('Retry-After %s says nothing', (header) => {
  expect(pauseBeforeRetry(1, busy(header))).toBeLessThan(500);
});

const broken = new Error('broken');

/** Attempts that take some time and fail, after some bytes. @returns time until success or failure, in seconds */
async function retrying(attempts: { bytes?: number; seconds?: number }[], fails = true) {
  let arrived = 0;
  let count = 0;
  const began = performance.now();
  const attempt = async (): Promise<string> => {
    const { bytes = 0, seconds = 0 } = attempts[count++] ?? {};
    if (count > attempts.length && !fails) return 'done';
    arrived += bytes;
    await sleep(seconds * 1000);
    throw broken;
  };
  const options = { signal: new AbortController().signal, arrivedBytes: () => arrived, isFinal: () => false };
  const outcome = await withRetries(attempt, options).catch((error: unknown) => error);
  return { outcome, count, seconds: Math.round((performance.now() - began) / 1000) };
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

test('gives up after four attempts in seconds if no byte has ever arrived', async () => {
  expect(await retrying(times(20, {}))).toMatchObject({ outcome: broken, count: 4 });
});

test('a line that breaks again and again is used as long as bytes arrive', async () => {
  expect(await retrying(times(100, { bytes: 30_000, seconds: 9 }), false)).toMatchObject({ outcome: 'done' });
});

test.each([
  ['nothing has', times(50, {})],
  ['only a few bytes have', times(50, { bytes: 100 })],
])('a download that has begun is given up once %s arrived for 30 s', async (_, attempts) => {
  const { outcome, seconds } = await retrying([{ bytes: 1 }, ...attempts]);
  expect(outcome).toBe(broken);
  expect(seconds).toBeGreaterThanOrEqual(29);
  expect(seconds).toBeLessThan(40);
});

test('after a sleep of the device, the network has time to return', async () => {
  const attempts = [{ bytes: 1 }, { seconds: 8 * 3600 }, ...times(5, {})];
  expect(await retrying(attempts, false)).toMatchObject({ outcome: 'done' });
});
