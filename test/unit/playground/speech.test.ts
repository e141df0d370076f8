import { expect, test } from 'vitest';

import { cutAtPauses } from '../../../playground/speech/cut-at-pauses.ts';
import { peaks, waveformPath } from '../../../playground/speech/peaks.ts';
import { clock, renamed, toSrt, toText } from '../../../playground/speech/subtitles.ts';
import { writeWav } from '../../../playground/speech/wav.ts';

const segments = [
  { start: 0, end: 1.5, text: 'One.' },
  { start: 3723.9996, end: 3725.01, text: 'Two --> three.' },
];

test('SubRip: numbers, times with a comma, and no arrow in the text', () => {
  expect(toSrt(segments)).toBe(
    '1\n00:00:00,000 --> 00:00:01,500\nOne.\n\n2\n01:02:04,000 --> 01:02:05,010\nTwo -> three.\n\n',
  );
  expect(toSrt([])).toBe('');
  expect(toText(segments)).toBe('One. Two --> three.');
});

test('times for people, and names of saved files', () => {
  expect([0, 4.9, 750, 3723].map(clock)).toEqual(['0:00', '0:04', '12:30', '1:02:03']);
  expect(renamed('a.b.mp3', 'srt')).toBe('a.b.srt');
  expect(renamed('memo', 'txt')).toBe('memo.txt');
});

test('a waveform has the loudest sample of each part, and no part is left out', () => {
  const samples = new Float32Array(1000);
  samples[0] = 0.25;
  samples[499] = -0.5;
  samples[999] = 2;
  expect(peaks(samples, 3)).toEqual([0.25, 0.5, 1]);
  expect(peaks(new Float32Array(2), 4)).toEqual([0, 0, 0, 0]);
  expect(waveformPath([0, 0.5, 1], 1, 3)).toBe('M1.5 -0.50V0.50M2.5 -1.00V1.00');
});

test('a wav file of 16 bits: its header, and samples that are held to the scale', async () => {
  const file = writeWav(Float32Array.of(0, 0.5, -1, 7), 16_000);
  const view = new DataView(await file.arrayBuffer());
  const ascii = (at: number, length: number): string =>
    String.fromCharCode(...new Uint8Array(view.buffer, at, length));
  expect([ascii(0, 4), ascii(8, 8), ascii(36, 4)]).toEqual(['RIFF', 'WAVEfmt ', 'data']);
  expect([view.getUint32(4, true), view.getUint32(24, true), view.getUint32(40, true)]).toEqual([
    44, 16_000, 8,
  ]);
  expect([44, 46, 48, 50].map((at) => view.getInt16(at, true))).toEqual([0, 16_384, -32_767, 32_767]);
  expect(file.type).toBe('audio/wav');
});

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
