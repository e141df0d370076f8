import { expect, test } from 'vitest';

import { writeWav } from '../../../../playground/speech/wav.ts';

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
