import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';

import type { PageAudio } from '../../../../src/protocol/worker-control.ts';
import { readAudio } from '../../../../src/engines/whisper/read-audio.ts';

/** Node has no WebCodecs, as workers of some browsers. */
vi.stubGlobal('navigator', { userAgent: 'Node' });

const clip = async (name: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await readFile(join(import.meta.dirname, '../../../support/speech', name)));

const inPage = (audio: PageAudio) => vi.fn(async (_file: Blob) => audio);

test.each(['flac', 'mp3', 'm4a', 'webm', 'ogg'])(
  'what the worker cannot decode, the page does: %s',
  async (ending) => {
    const decode = inPage({ samples: new Int16Array(40_000).fill(16_384) });
    const file = new Blob([await clip(`sentence.${ending}`)]);
    const audio = await readAudio(file, decode);
    expect(decode).toHaveBeenCalledWith(file);
    let length = 0;
    for await (const piece of audio) {
      expect(piece.length).toBeLessThanOrEqual(16_000);
      expect(piece.every((sample) => sample === 0.5)).toBe(true);
      length += piece.length;
    }
    expect(length).toBe(40_000);
  },
);

test('wav is decoded without the page', async () => {
  const decode = inPage({ plays: [] });
  const audio = await readAudio(new Blob([await clip('sentence.wav')]), decode);
  let length = 0;
  for await (const piece of audio) length += piece.length;
  expect(length / 16_000).toBeCloseTo(2.58, 1);
  expect(decode).not.toHaveBeenCalled();
});

test('the page is not given what would take too much memory to decode', async () => {
  // 72 minutes of mono at 16 kHz.
  const sound = await clip('sentence.mp3');
  const file = new Blob(Array.from({ length: 1600 }, () => sound));
  const decode = inPage({ plays: [] });
  await expect(readAudio(file, decode)).rejects.toMatchObject({
    wire: {
      status: 400,
      param: 'file',
      message: expect.stringMatching(/is in mp3, .* at most 69 minutes. Split it/) as string,
    },
  });
  expect(decode).not.toHaveBeenCalled();
});

test('where neither decodes it, the error names the codec and what this browser takes', async () => {
  const decode = inPage({ plays: ['mp3', 'flac'] });
  await expect(readAudio(new Blob([await clip('sentence.m4a')]), decode)).rejects.toMatchObject({
    wire: {
      status: 400,
      code: 'unsupported_value',
      param: 'file',
      message: expect.stringMatching(/is in aac, .* It decodes wav, mp3, flac\.$/) as string,
    },
  });
});
