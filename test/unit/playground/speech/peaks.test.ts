import { expect, test } from 'vitest';

import { peaks, waveformPath } from '../../../../playground/speech/peaks.ts';

test('a waveform has the loudest sample of each part, and no part is left out', () => {
  const samples = new Float32Array(1000);
  samples[0] = 0.25;
  samples[499] = -0.5;
  samples[999] = 2;
  expect(peaks(samples, 3)).toEqual([0.25, 0.5, 1]);
  expect(peaks(new Float32Array(2), 4)).toEqual([0, 0, 0, 0]);
  expect(waveformPath([0, 0.5, 1], 1, 3)).toBe('M1.5 -0.50V0.50M2.5 -1.00V1.00');
});
