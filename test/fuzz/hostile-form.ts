import { Random } from '../chaos/random.ts';
import type { HostileRequest } from './hostile-request.ts';
import { hostileSound } from './hostile-sound.ts';
import { joinBytes } from './join-bytes.ts';

export const SPEECH_MODEL = 'coral-wren-4';

/** A wav file of silence, for which no model computes. */
function wav(
  samples: number,
  { format = 1, channels = 1, rate = 16_000, bits = 16, length = samples * 2 } = {},
): Uint8Array<ArrayBuffer> {
  const bytes = joinBytes(['RIFF....WAVEfmt ', new Uint8Array(20), 'data....', new Uint8Array(samples * 2)]);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, 36 + length, true);
  view.setUint32(16, 16, true);
  view.setUint16(20, format, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * channels * (bits >> 3), true);
  view.setUint16(32, channels * (bits >> 3), true);
  view.setUint16(34, bits, true);
  view.setUint32(40, length, true);
  return bytes;
}

const KINDS: Record<string, (random: Random, clips: Uint8Array[]) => Uint8Array<ArrayBuffer>> = {
  valid: () => wav(1600),
  header: (random) =>
    wav(random.pick([0, 1, 1600]), {
      format: random.pick([0, 1, 2, 3, 6, 17, 65_534, 65_535]),
      channels: random.pick([0, 1, 2, 33, 65_535]),
      rate: random.pick([0, 1, 999, 16_000, 384_001, 4_294_967_295]),
      bits: random.pick([0, 1, 8, 16, 32, 65_535]),
      length: random.pick([0, 3200, 4_294_967_295]),
    }),
  'damaged file': (random, clips) => hostileSound(random.below(2 ** 31), 0, clips).file,
};

/** The same for the same seed, index and clips (whole files of sound, to be damaged), whatever came before. */
export function hostileForm(seed: number, index: number, clips: Uint8Array[]): HostileRequest {
  const random = new Random(Math.imul(seed, 0x9e3779b1) + Math.imul(index, 0x85ebca6b));
  const path = random.below(8) === 0 ? '/v1/audio/translations' : '/v1/audio/transcriptions';
  const kind = random.pick(['valid', 'header', 'header', 'damaged file', 'damaged file']);
  const file = KINDS[kind]?.(random, clips) ?? '';
  const body = new FormData();
  body.append('model', SPEECH_MODEL);
  body.append('file', new File([file], random.pick(['a.mp3', 'a.wav', '', 'a.txt'])));
  return { kind: `form: ${kind}`, method: 'POST', path, headers: {}, body };
}
