import { expect, test } from 'vitest';
import { openEncoder } from '../../../../src/engines/voice/encode-sound.ts';

const samples = Float32Array.of(0, 0.5, -1);

test.each(['pcm', 'wav'] as const)(
  '%s: a speech after another, whose bytes were transferred',
  async (format) => {
    const spoken: number[] = [];
    for (let speech = 0; speech < 2; speech++) {
      const encoder = await openEncoder(format, false, '');
      for (const bytes of [await encoder.encode(samples), await encoder.finish()]) {
        spoken.push(bytes.length);
        structuredClone(bytes, { transfer: [bytes.buffer] });
      }
    }
    const header = format === 'wav' ? 44 : 0;
    expect(spoken).toEqual([header + 6, 0, header + 6, 0]);
  },
);

test('wav: a resumed speech has no second header', async () => {
  const bytes = await (await openEncoder('wav', true, '')).encode(samples);
  expect(Array.from(new Int16Array(bytes.buffer))).toEqual([0, 16_384, -32_767]);
});
