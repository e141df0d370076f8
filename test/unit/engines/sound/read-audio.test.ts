import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
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
