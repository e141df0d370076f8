import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  AudioSample,
  BufferTarget,
  CustomAudioDecoder,
  EncodedAudioPacketSource,
  EncodedPacket,
  Mp4OutputFormat,
  Output,
  registerDecoder,
} from 'mediabunny';
import { beforeEach, expect, test, vi } from 'vitest';

import { openSound, type Sound } from '../../../../src/engines/sound/read-audio.ts';

// Node has no WebCodecs, as workers of some browsers.
beforeEach(() => void vi.stubGlobal('navigator', { userAgent: 'Node' }));

const clip = async (name: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await readFile(join(import.meta.dirname, '../../../support/speech', name)));

test.each([
  ['flac', 'flac'],
  ['mp3', 'mp3'],
  ['m4a', 'aac'],
  ['webm', 'opus'],
  ['ogg', 'vorbis'],
])('what the worker cannot decode is for the page: %s', async (ending, codec) => {
  const file = new Blob([await clip(`sentence.${ending}`)]);
  expect(await openSound(file)).toEqual({ codec, decodes: expect.any(Array) as string[] });
});

test('wav is decoded a second at a time', async () => {
  const sound = (await openSound(new Blob([await clip('sentence.wav')]))) as Sound;
  const lengths: number[] = [];
  for await (const { length } of sound) lengths.push(length);
  expect(lengths).toEqual([16_000, 16_000, 9322]);
});

/** WAV of 32-bit floats at 16 kHz. `size`: of a file that is written as a stream, as its header has it. `notes`: before the sound */
function floatWav(samples: readonly number[], channels = 1, size?: number, notes = ''): Blob {
  const head = Buffer.from(
    '524946460000000057415645666d74201000000003000100803e000000fa0000040020006461746100000000',
    'hex',
  );
  head.writeUInt32LE(size ?? 36 + notes.length + 4 * samples.length, 4);
  head.writeUInt16LE(channels, 22);
  head.writeUInt16LE(4 * channels, 32);
  head.writeUInt32LE(size === 36 ? 0 : 4 * samples.length, 40);
  return new Blob([head.subarray(0, 36), notes, head.subarray(36), Float32Array.from(samples)]);
}

test.each([
  [[], 'has no sound'],
  [[0.1, Number.NaN], 'has samples at 0.0 s that are infinite, NaN or far too large'],
  [[0.1, -Infinity], 'has samples at 0.0 s that are infinite, NaN or far too large'],
  [[0.1, 3e38], 'has samples at 0.0 s that are infinite, NaN or far too large'],
])('wav with the samples %j is refused', async (samples, message) => {
  const sound = (await openSound(floatWav(samples))) as Sound;
  await expect(sound.next()).rejects.toThrow(message);
});

test('an m4a without its end is called cut off', async () => {
  const bytes = await clip('sentence.m4a');
  await expect(openSound(new Blob([bytes.subarray(0, bytes.length / 2)]))).rejects.toThrow('is cut off');
});

test.each([
  ['was written as a stream that tells no length', 0],
  ['was written as a stream that tells only its header', 36],
  ['has notes of odd lengths', undefined, 'LIST\x1e\0\0\0INFOINAM\x05\0\0\0aria\0IART\x05\0\0\0bach\0'],
])('wav that %s is read to its end', async (_, size, notes = '') => {
  const sound = (await openSound(floatWav([0.5, 0.25], 1, size, notes))) as Sound;
  expect((await sound.next()).value).toEqual(Float32Array.of(0.5, 0.25));
});

test('of a recording that begins after hours, only its own length counts', async () => {
  const webm = await clip('sentence.webm');
  const at = Buffer.from(webm).indexOf('1f43b675', 'hex');
  const late = Buffer.from('1f43b67501ffffffffffffffe78401b77400', 'hex');
  const parts = [webm.subarray(0, at), late, webm.subarray(at + 9)];
  expect(await openSound(new Blob(parts))).toHaveProperty('codec', 'opus');
});

test('channels of opposite signs are not silence', async () => {
  const sound = (await openSound(floatWav([0.5, -0.5, 0.25, -0.25], 2))) as Sound;
  expect((await sound.next()).value).toEqual(Float32Array.of(0.5, 0.25));
});

test('wav of integers that were written as floats is read', async () => {
  const sound = (await openSound(floatWav([-(2 ** 31), 2 ** 31]))) as Sound;
  expect((await sound.next()).value).toHaveLength(2);
});

test('the page is not given what would take too much memory to decode', async () => {
  // 72 minutes of mono at 16 kHz.
  const sound = await clip('sentence.mp3');
  const file = new Blob(Array.from({ length: 1600 }, () => sound));
  await expect(openSound(file)).rejects.toMatchObject({
    wire: {
      status: 400,
      param: 'file',
      message: expect.stringMatching(/is in mp3, .* at most 69 minutes. Split it/) as string,
    },
  });
});

test('of a file that tells no duration, the size is the bound', async () => {
  const sound = Buffer.from(await clip('sentence.ogg'));
  const headers = sound.subarray(0, sound.indexOf('OggS', sound.indexOf('OggS', 4) + 4));
  expect(await openSound(new Blob([headers]))).toMatchObject({ codec: 'vorbis' });
  await expect(openSound(new Blob([headers, new Uint8Array(5_000_000)]))).rejects.toThrow(
    /decodes at most 69 minutes/,
  );
});

/** The smallest FLAC file without a frame. */
const withoutFrames = new Uint8Array(48);
withoutFrames.set(new TextEncoder().encode('fLaC'));
withoutFrames.set([0x80, 0, 0, 34, 0x10, 0, 0x10, 0], 4);
// 16 kHz, one channel, 16 bits.
withoutFrames.set([0x03, 0xe8, 0x00, 0xf0], 18);

test('a file whose packets have no end is refused', async () => {
  await expect(openSound(new Blob([withoutFrames]))).rejects.toMatchObject({
    wire: { status: 400, param: 'file', message: expect.stringMatching(/packets have no end/) as string },
  });
});

/** Plays each packet of AAC as a tone, at these rates in turn, for as long as the packet lasts. */
let rates: number[] = [];
class ToneDecoder extends CustomAudioDecoder {
  #packets = 0;
  static override supports = (codec: string): boolean => codec === 'aac' && rates.length > 0;
  override init(): void {}
  override decode({ timestamp, duration }: EncodedPacket): void {
    const sampleRate = rates[Math.floor(this.#packets++ / 10) % rates.length] ?? 0;
    const data = new Float32Array(Math.round(duration * sampleRate)).map((_, at) =>
      tone(timestamp + at / sampleRate),
    );
    this.onSample(
      new AudioSample({ data, format: 'f32-planar', numberOfChannels: 1, sampleRate, timestamp }),
    );
  }
  override flush(): void {}
  override close(): void {}
}
registerDecoder(ToneDecoder);
const HERTZ = 440;
const tone = (seconds: number): number => Math.sin(2 * Math.PI * HERTZ * seconds);

test.each([[[16_000]], [[32_000]], [[44_100]], [[16_000, 32_000]], [[48_000, 44_100, 22_050]]])(
  'sound is resampled from the rates at which it is decoded: %j',
  async (decoded) => {
    rates = decoded;
    const sound = (await openSound(new Blob([await clip('sentence.m4a')]))) as Sound;
    const pieces: number[] = [];
    for await (const piece of sound) pieces.push(...piece);
    const seconds = pieces.length / 16_000;
    expect(seconds).toBeGreaterThan(2.5);
    expect(seconds).toBeLessThan(2.8);
    const crossings = pieces.filter((value, at) => value < 0 !== (pieces[at - 1] ?? value) < 0).length;
    expect(Math.abs(crossings / seconds / 2 - HERTZ)).toBeLessThan(0.02 * HERTZ);
  },
);

/** An m4a of tiny packets, each of which is one sample by the times of the file. */
async function tinyPackets(count: number): Promise<Blob> {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat(), target });
  const source = new EncodedAudioPacketSource('aac');
  output.addAudioTrack(source);
  await output.start();
  const decoderConfig = {
    codec: 'mp4a.40.2',
    numberOfChannels: 8,
    sampleRate: 16_000,
    description: Uint8Array.of(0x14, 0x38),
  };
  for (let at = 0; at < count; at++) {
    const packet = new EncodedPacket(new Uint8Array(4), 'key', at / 16_000, 1 / 16_000);
    await source.add(packet, { decoderConfig });
  }
  await output.finalize();
  return new Blob([target.buffer ?? '']);
}

test('packets count by the sound that is decoded from them, whatever their times', async () => {
  rates = [];
  expect(await openSound(await tinyPackets(1000))).toMatchObject({ codec: 'aac' });
  // 256 MiB are 8,192 packets of 1,024 samples in 8 channels.
  await expect(openSound(await tinyPackets(8200))).rejects.toThrow(/decodes at most 8 minutes/);
});
