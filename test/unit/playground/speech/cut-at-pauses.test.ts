import { expect, test } from 'vitest';

import { cutAtPauses } from '../../../../playground/speech/cut-at-pauses.ts';

test('sound is cut in its pauses, into parts of at most 30 s that leave nothing out', () => {
  const rate = 1000;
  const samples = new Float32Array(70 * rate).fill(0.5);
  // The first is too early to be a cut.
  for (const [from, to] of [
    [10, 11],
    [24, 24.5],
    [47, 47.5],
  ] as const)
    samples.fill(0, from * rate, to * rate);
  const parts = cutAtPauses(samples, rate);
  expect(parts.length).toBe(3);
  expect(parts[0]?.start).toBe(0);
  expect(parts.at(-1)?.end).toBe(samples.length);
  for (const [at, { start, end }] of parts.entries()) {
    expect(end - start).toBeLessThanOrEqual(30 * rate);
    if (at > 0) {
      expect(start).toBe(parts[at - 1]?.end);
      expect(samples[start]).toBe(0);
    }
  }
  expect(cutAtPauses(new Float32Array(30 * rate), rate)).toEqual([{ start: 0, end: 30 * rate }]);
  expect(cutAtPauses(new Float32Array(0), rate)).toEqual([]);
});
