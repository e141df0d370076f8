import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { whenStuck } from '../../../../src/page/election/engine-worker.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = (): Promise<void> => new Promise(() => undefined);

/** Whether a worker counts as stuck that gives these answers to its first pings, and answers from then on. */
async function stuckAfter(answers: readonly (() => Promise<void>)[], milliseconds: number): Promise<boolean> {
  const rest = [...answers];
  const stop = new AbortController();
  let stuck = false;
  const watching = whenStuck(() => (rest.shift() ?? (() => Promise.resolve()))(), stop.signal, 1000).then(
    () => (stuck = true),
    () => undefined,
  );
  await vi.advanceTimersByTimeAsync(milliseconds);
  stop.abort();
  await watching;
  return stuck;
}

test('a worker that misses two pings in a row is stuck', async () => {
  expect(await stuckAfter([never, never], 3900)).toBe(false);
  expect(await stuckAfter([never, never], 4100)).toBe(true);
});

test.each([
  ['answers', []],
  ['misses one, and answers the next', [never, () => Promise.resolve(), never]],
  [
    'refuses the call',
    [() => Promise.reject(new Error('no function')), () => Promise.reject(new Error('no function'))],
  ],
])('a worker that %s is not', async (_, answers) => {
  expect(await stuckAfter(answers, 20_000)).toBe(false);
});
