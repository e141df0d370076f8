import { expect, test } from 'vitest';
import { pauseBeforeRetry, TransientStatusError } from '../../../src/base/retry.ts';

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
