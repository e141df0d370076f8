import { Random } from '../chaos/random.ts';
import type { HostileRequest } from './hostile-request.ts';
import { hostileSound } from './hostile-sound.ts';
import { joinBytes } from './join-bytes.ts';

export const SPEECH_MODEL = 'coral-wren-4';
const BOUNDARY = '----boundary';
const FIELDS = [
  'model',
  'language',
  'prompt',
  'response_format',
  'temperature',
  'timestamp_granularities[]',
  'stream',
  'include[]',
  'known_speaker_names[]',
  '__proto__',
  'constructor',
  'no_such_field',
  'file',
  '',
];
const VALUES = [
  '',
  ' ',
  '0',
  '-0',
  '1e999',
  'NaN',
  'true',
  'null',
  '[]',
  '{}',
  'en',
  'xx',
  '__proto__',
  'toString',
  'word',
  'srt',
  '\u0000',
  '\uFEFF',
  '<|startoftranscript|><|endoftext|>',
  '\u{1F468}\u200D\u{1F469}',
  'a'.repeat(300_000),
];
const TYPES = [
  'multipart/form-data',
  'multipart/form-data; boundary=',
  `multipart/form-data; boundary="${BOUNDARY}`,
  `multipart/form-data; boundary=${'a'.repeat(5000)}`,
  `multipart/mixed; boundary=${BOUNDARY}`,
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
  '',
];
const DISPOSITIONS = [
  'form-data',
  'form-data; name=',
  'form-data; name="file',
  'form-data; name="file"; filename="a\u0000.wav"',
  'form-data; name="file"; filename="../../a.wav"',
  'form-data; name="file"; filename*=UTF-8\'\'%ff.wav',
  `form-data; name="file"; filename="${'a'.repeat(100_000)}"`,
  'attachment; name="file"',
  'form-data; name="model"; name="file"; filename="a.wav"',
];

const encoder = new TextEncoder();
type Part = [disposition: string, content: string | Uint8Array];

const field = (name: string, value: string): Part => [`form-data; name="${name}"`, value];
const sound = (content: Part[1], name = 'a.wav'): Part => [
  `form-data; name="file"; filename="${name}"`,
  content,
];

const write = (parts: readonly Part[]): Uint8Array<ArrayBuffer> =>
  joinBytes([
    ...parts.flatMap(([disposition, content]) => [
      `--${BOUNDARY}\r\nContent-Disposition: ${disposition}\r\n\r\n`,
      content,
      '\r\n',
    ]),
    `--${BOUNDARY}--\r\n`,
  ]);

/** A wav file of these samples, whose header says whatever is given. */
function wav(
  samples: number,
  { format = 1, channels = 1, rate = 16_000, bits = 16, length = samples * 2 },
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(44 + samples * 2);
  const view = new DataView(bytes.buffer);
  bytes.set(encoder.encode('RIFF'));
  view.setUint32(4, 36 + length, true);
  bytes.set(encoder.encode('WAVEfmt '), 8);
  view.setUint32(16, 16, true);
  view.setUint16(20, format, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * channels * (bits >> 3), true);
  view.setUint16(32, channels * (bits >> 3), true);
  view.setUint16(34, bits, true);
  bytes.set(encoder.encode('data'), 36);
  view.setUint32(40, length, true);
  return bytes;
}

/** Silent sound, so that no model computes for it. */
const silence = wav(1600, {});
const model = field('model', SPEECH_MODEL);

interface Made {
  body: Uint8Array<ArrayBuffer>;
  type?: string;
}

const KINDS: Record<string, { weight: number; make(random: Random, clips: Uint8Array[]): Made }> = {
  valid: { weight: 2, make: () => ({ body: write([model, sound(silence)]) }) },
  'broken form': {
    weight: 20,
    make(random) {
      const whole = write([model, sound(silence)]);
      const noise = Uint8Array.from({ length: 1 + random.below(3000) }, () => random.below(256));
      const cut = whole.slice(0, random.below(whole.length));
      const head = `--${BOUNDARY}\r\n`;
      const without = joinBytes([head, 'a: b\r\n\r\nx\r\n', whole]);
      const endless = joinBytes([head, 'Content-Disposition: ', 'x'.repeat(1_000_000)]);
      const unix = encoder.encode(new TextDecoder().decode(whole).replaceAll('\r\n', '\n'));
      const nested = write([model, sound(whole)]);
      const empty = new Uint8Array();
      return { body: random.pick([noise, cut, without, endless, unix, nested, empty, joinBytes([head])]) };
    },
  },
  type: {
    weight: 8,
    make: (random) => ({ body: write([model, sound(silence)]), type: random.pick(TYPES) }),
  },
  disposition: {
    weight: 10,
    make: (random) => ({ body: write([model, [random.pick(DISPOSITIONS), silence]]) }),
  },
  'one field': {
    weight: 25,
    make(random) {
      const extra = field(random.pick(FIELDS), random.pick(VALUES));
      const parts = [model, sound(silence)];
      parts.splice(random.below(3), 0, extra);
      return { body: write(parts) };
    },
  },
  parts: {
    weight: 8,
    make(random) {
      const count = random.pick([99, 101, 10_000, 200_000]);
      const part = random.pick([field('a', ''), model, sound('')]);
      return { body: write([...Array.from({ length: count }, () => part), model, sound(silence)]) };
    },
  },
  size: {
    weight: 1,
    make: (random) => ({
      body: write([model, sound(new Uint8Array(random.pick([25, 27, 60]) * 1024 * 1024))]),
    }),
  },
  header: {
    weight: 14,
    make(random) {
      const lie = {
        format: random.pick([0, 1, 2, 3, 6, 17, 65_534, 65_535]),
        channels: random.pick([0, 1, 2, 33, 65_535]),
        rate: random.pick([0, 1, 999, 16_000, 384_001, 4_294_967_295]),
        bits: random.pick([0, 1, 8, 16, 32, 65_535]),
        length: random.pick([0, 3200, 4_294_967_295]),
      };
      return { body: write([model, sound(wav(random.pick([0, 1, 1600]), lie))]) };
    },
  },
  'damaged file': {
    weight: 12,
    make(random, clips) {
      const { file } = hostileSound(random.below(2 ** 31), 0, clips);
      return { body: write([model, sound(file, random.pick(['a.mp3', 'a.wav', '', 'a.txt']))]) };
    },
  },
};

const WEIGHT = Object.values(KINDS).reduce((sum, { weight }) => sum + weight, 0);

/** The same for the same seed, index and clips (whole files of sound, to be damaged), whatever came before. */
export function hostileForm(seed: number, index: number, clips: Uint8Array[]): HostileRequest {
  const random = new Random(Math.imul(seed, 0x9e3779b1) + Math.imul(index, 0x85ebca6b));
  const path = random.below(8) === 0 ? '/v1/audio/translations' : '/v1/audio/transcriptions';
  let at = random.below(WEIGHT);
  for (const [kind, { weight, make }] of Object.entries(KINDS)) {
    if (at < weight) {
      const { body, type = `multipart/form-data; boundary=${BOUNDARY}` } = make(random, clips);
      return { kind: `form: ${kind}`, method: 'POST', path, headers: { 'content-type': type }, body };
    }
    at -= weight;
  }
  throw new Error('weights do not add up');
}
