import { expect, test } from 'vitest';

import { RateMeter } from '../../../../src/engine-host/models/rate-meter.ts';

test('slow first bytes give no estimate; a steady flow does', () => {
  const meter = new RateMeter();
  // 200 bytes in the first second would be 155 hours for 100 MB.
  expect(meter.add(0, 0)).toBe(null);
  expect(meter.add(100, 300)).toBe(null);
  expect(meter.add(200, 1000)).toBe(null);
  let rate: number | null = null;
  for (let at = 1100; at <= 8000; at += 100) rate = meter.add(200 + (at - 1000) * 1000, at);
  expect(rate).toBeCloseTo(1_000_000, -4);
});

test('a download that starts over is measured from its start', () => {
  const meter = new RateMeter();
  for (let at = 0; at <= 4000; at += 500) meter.add(at * 10, at);
  expect(meter.add(0, 4500)).toBe(null);
  expect(meter.add(10, 5000)).toBe(null);
});
