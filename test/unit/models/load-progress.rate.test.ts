import { beforeEach, expect, test, vi } from 'vitest';

import { RateMeter } from '../../../src/models/load-progress.ts';

let now = 0;
beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => now));

function add(meter: RateMeter, bytes: number, at: number): number | null {
  now = at;
  return meter.add(bytes);
}

test('slow first bytes give no estimate; a steady flow does', () => {
  const meter = new RateMeter();
  // 200 bytes in the first second would be 155 hours for 100 MB.
  expect(add(meter, 0, 0)).toBe(null);
  expect(add(meter, 100, 300)).toBe(null);
  expect(add(meter, 200, 1000)).toBe(null);
  let rate: number | null = null;
  for (let at = 1100; at <= 8000; at += 100) rate = add(meter, 200 + (at - 1000) * 1000, at);
  expect(rate).toBeCloseTo(1_000_000, -4);
});

test('a download that starts over is measured from its start', () => {
  const meter = new RateMeter();
  for (let at = 0; at <= 4000; at += 500) add(meter, at * 10, at);
  expect(add(meter, 0, 4500)).toBe(null);
  expect(add(meter, 10, 5000)).toBe(null);
});
