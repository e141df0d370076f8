import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { readAudio } from '../../../../src/worker/runtimes/whisper/read-audio.ts';
import { Resampler } from '../../../../src/worker/runtimes/whisper/resampler.ts';

const clip = readFileSync(join(import.meta.dirname, '../../../support/speech/sentence.wav'));

async function decode(bytes: Uint8Array): Promise<Float32Array> {
  const audio = await readAudio(new Blob([Uint8Array.from(bytes)]));
  const pieces: Float32Array[] = [];
  try {
    for (let piece = await audio.next(); piece; piece = await audio.next()) pieces.push(piece);
  } finally {
    audio.close();
  }
  return Float32Array.from(pieces.flatMap((piece) => [...piece]));
}

const failure = (bytes: Uint8Array): Promise<unknown> =>
  decode(bytes).then(
    () => null,
    (error: unknown) => error,
  );

/** A wav of 16 bits. */
function wav(rate: number, channels: number, samples: readonly number[], claimedBytes?: number): Uint8Array {
  const data = samples.length * 2;
  const file = Buffer.alloc(44 + data);
  file.write('RIFF', 0);
  file.writeUInt32LE(36 + data, 4);
  file.write('WAVEfmt ', 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(channels, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(rate * channels * 2, 28);
  file.writeUInt16LE(channels * 2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36);
  file.writeUInt32LE(claimedBytes ?? data, 40);
  samples.forEach((sample, at) => file.writeInt16LE(Math.round(sample * 32_767), 44 + at * 2));
  return file;
}

const tone = (hertz: number, rate: number, seconds: number): number[] =>
  Array.from({ length: rate * seconds }, (_, at) => Math.sin((2 * Math.PI * hertz * at) / rate) / 2);

const loudness = (samples: Float32Array): number =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);

test('a wav at 16 kHz comes out as it is', async () => {
  const samples = await decode(clip);
  expect(samples).toHaveLength((clip.length - 44) / 2);
  expect(samples[20_000]).toBeCloseTo(clip.readInt16LE(44 + 40_000) / 32_768, 4);
});

test('two channels at 44.1 kHz come out as their mean at 16 kHz', async () => {
  const left = tone(1000, 44_100, 1);
  const samples = await decode(
    wav(
      44_100,
      2,
      left.flatMap((sample) => [sample, 0]),
    ),
  );
  expect(Math.abs(samples.length - 16_000)).toBeLessThan(20);
  expect(loudness(samples)).toBeCloseTo(0.25 / Math.SQRT2, 2);
});

test('pieces resample as the whole does, and what 16 kHz cannot hold is gone', () => {
  const whole = Float32Array.from(tone(11_000, 48_000, 1));
  const resampler = new Resampler(48_000);
  const pieces: number[] = [];
  for (let at = 0; at < whole.length; at += 777) pieces.push(...resampler.push(whole.slice(at, at + 777)));
  pieces.push(...resampler.end());
  expect(Math.abs(pieces.length - 16_000)).toBeLessThan(20);
  expect(loudness(Float32Array.from(pieces))).toBeLessThan(0.01);
  const once = new Resampler(48_000);
  const all = [...once.push(Float32Array.from(tone(1000, 48_000, 1))), ...once.end()];
  const parts = new Resampler(48_000);
  const low = Float32Array.from(tone(1000, 48_000, 1));
  const joined = [...parts.push(low.slice(0, 10_001)), ...parts.push(low.slice(10_001)), ...parts.end()];
  expect(joined.length).toBe(all.length);
  expect(Math.max(...joined.map((sample, at) => Math.abs(sample - (all[at] ?? 9))))).toBeLessThan(1e-5);
});

test('a header that lies about its length', async () => {
  const samples = await decode(wav(16_000, 1, tone(400, 16_000, 1), 4_000_000_000));
  expect(samples.length).toBeGreaterThan(15_000);
  expect(samples.length).toBeLessThanOrEqual(16_000);
});

test.for([
  ['nothing', new Uint8Array(), /is empty/],
  ['text', Buffer.from('This is no sound.'.repeat(100)), /is damaged, or no sound/],
  ['zeros', new Uint8Array(100_000), /is damaged, or no sound/],
  ['a header alone', clip.subarray(0, 20), /is damaged, or no sound|has no sound/],
] as const)('%s is a 400', async ([, bytes, message]) => {
  const error = (await failure(bytes)) as { wire: object; message: string };
  expect(error.wire).toMatchObject({ status: 400, param: 'file' });
  expect(error.message).toMatch(message);
});

test('sound is read in short pieces, and no more than two hours of it', async () => {
  const quiet = (seconds: number) =>
    wav(
      1000,
      1,
      Array.from({ length: 1000 * seconds }, () => 0),
    );
  const audio = await readAudio(new Blob([Uint8Array.from(quiet(60))]));
  let longest = 0;
  for (let piece = await audio.next(); piece; piece = await audio.next())
    longest = Math.max(longest, piece.length / 16_000);
  audio.close();
  expect(longest).toBeLessThan(10);
  expect(String(await failure(quiet(7201)))).toMatch(/longer than 2 hours/);
  expect(String(await failure(wav(100, 1, [0, 0])))).toMatch(/at 100 Hz/);
});
