import { readFile } from 'node:fs/promises';

import { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } from 'mediabunny';
import { expect, test } from 'vitest';
import { openEncoder } from '../../../../src/engines/voice/encode-sound.ts';

const samples = Float32Array.of(0, 0.5, -1);

test.each(['pcm', 'wav'] as const)('%s: a speech after one whose bytes were transferred', async (format) => {
  const spoken: number[] = [];
  for (let speech = 0; speech < 2; speech++) {
    const encode = await openEncoder(format, 0, '');
    for (const bytes of [await encode(samples), await encode(samples)]) {
      spoken.push(bytes.length);
      structuredClone(bytes, { transfer: [bytes.buffer] });
    }
  }
  const header = format === 'wav' ? 44 : 0;
  expect(spoken).toEqual([header + 6, 6, header + 6, 6]);
});

test('wav: a resumed speech has no second header', async () => {
  const bytes = await (await openEncoder('wav', 3, ''))(samples);
  expect(Array.from(new Int16Array(bytes.buffer))).toEqual([0, 16_384, -32_767]);
});

test('mp3: each sentence is complete, so that an engine can continue after another', async () => {
  const wasm = await readFile('node_modules/wasm-media-encoders/wasm/mp3.wasm');
  const url = `data:application/wasm;base64,${wasm.toString('base64')}`;
  const sentence = Float32Array.from({ length: 24_000 }, (_, at) => Math.sin(at / 20));
  const encode = await openEncoder('mp3', 0, url);
  const first = await encode(sentence);
  const second = await encode(sentence);
  const resumed = await (await openEncoder('mp3', 24_000, url))(sentence);
  // 8,000 bytes a second, and the encoder's delay.
  expect(first.length).toBeGreaterThan(8000);
  expect(first.length).toBeLessThan(8800);
  expect(Buffer.from(second).equals(first)).toBe(true);
  expect(Buffer.from(resumed).equals(first)).toBe(true);
});

test('flac: one file whose frames count on, also by another engine', async () => {
  const sentence = Float32Array.from({ length: 9_900 }, (_, at) => Math.sin(at / 20));
  const encode = await openEncoder('flac', 0, '');
  const parts = [await encode(sentence), await encode(sentence.slice(0, 7)), await encode(sentence)];
  const resumed = await (await openEncoder('flac', 9_907, ''))(sentence);
  expect(Buffer.from(parts[2] ?? []).equals(resumed)).toBe(true);
  const input = new Input({ source: new BufferSource(Buffer.concat(parts)), formats: ALL_FORMATS });
  const track = await input.getPrimaryAudioTrack();
  if (!track) throw new Error('no track');
  const ends: number[] = [];
  for await (const { timestamp, duration } of new EncodedPacketSink(track).packets())
    ends.push(Math.round((timestamp + duration) * 24_000));
  expect(ends).toEqual([3300, 6600, 9900, 9907, 13_207, 16_507, 19_807]);
});
