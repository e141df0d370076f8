import { expect, test } from 'vitest';

import { exponent, growthRow } from '../../bench/growth.ts';
import { met, summarize } from '../../bench/row.ts';

const sizes = [1, 4, 16, 64, 256, 1024];
const growing = (y: (x: number) => number) => sizes.map((x) => ({ x, y: y(x) }));

test('the exponent of a growth is read off its larger half', () => {
  expect(exponent(growing((x) => 3 * x))).toBeCloseTo(1);
  expect(exponent(growing((x) => x * x))).toBeCloseTo(2);
  expect(exponent(growing(() => 7))).toBeCloseTo(0);
  // What every request costs does not hide a square.
  expect(exponent(growing((x) => 50 + 0.01 * x * x))).toBeGreaterThan(1.1);
});

test('a growth worse than linear misses its goal', () => {
  const row = (y: (x: number) => number) =>
    growthRow('growth', '', {
      x: 'inputs',
      y: 'ms',
      points: growing(y).map((point) => ({ x: point.x, values: [point.y, point.y * 2, point.y] })),
    });
  expect(row((x) => 5 + x).values).toHaveLength(3);
  expect(met(row((x) => 5 + x))).toBe(true);
  expect(met(row((x) => x ** 1.5))).toBe(false);
});

test('a median of an even number of values lies between the middle ones', () => {
  expect(summarize([4, 1, 3, 2])).toEqual({ median: 2.5, min: 1, max: 4 });
  expect(summarize([9, 1, 2]).median).toBe(2);
});
