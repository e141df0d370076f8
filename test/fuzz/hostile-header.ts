import type { Random } from '../chaos/random.ts';
import { chatMetadata, oneTensor, writeGguf } from '../support/write-gguf.ts';

const UINT8 = 0;
const STRING = 8;
const ARRAY = 9;

const numbers = (bytes: 4 | 8, ...values: number[]): Buffer => {
  const buffer = Buffer.alloc(bytes * values.length);
  values.forEach((value, index) =>
    bytes === 4 ? buffer.writeUInt32LE(value, index * 4) : buffer.writeBigUInt64LE(BigInt(value), index * 8),
  );
  return buffer;
};
const text = (value: string): Buffer => Buffer.concat([numbers(8, value.length), Buffer.from(value)]);
/** A list of texts of a vocabulary, all of which are empty. */
const emptyTexts = (key: string, count: number): Buffer =>
  Buffer.concat([
    text(key),
    numbers(4, ARRAY, STRING),
    numbers(8, count),
    Buffer.alloc(8 * Math.max(0, count)),
  ]);
const many = (count: number, make: (index: number) => Buffer): Buffer[] =>
  Array.from({ length: count }, (_, index) => make(index));

const sound = writeGguf({ metadata: chatMetadata, tensors: [oneTensor] });
const METADATA_AT = 24;
const TENSORS_AT = sound.indexOf(text(oneTensor.name));
const ALIGNMENT = Buffer.alloc(32);

interface Additions {
  entries?: Buffer[];
  tensors?: Buffer[];
}

/** The sound file with further entries of metadata and further tensors. */
function withMore({ entries = [], tensors = [] }: Additions): Buffer<ArrayBuffer> {
  const head = Buffer.from(sound.subarray(0, METADATA_AT));
  head.writeBigUInt64LE(BigInt(1 + tensors.length), 8);
  head.writeBigUInt64LE(BigInt(Object.keys(chatMetadata).length + entries.length), 16);
  const metadata = sound.subarray(METADATA_AT, TENSORS_AT);
  return Buffer.concat([head, metadata, ...entries, ...tensors, sound.subarray(TENSORS_AT), ALIGNMENT]);
}

const tensor = (name: string): Buffer =>
  Buffer.concat([text(name), numbers(4, 1), numbers(8, 1), numbers(4, 0), numbers(8, 0)]);

/** A GGUF whose header has as much of something as its bytes allow. */
export function hugeGguf(random: Random): Buffer<ArrayBuffer> {
  const few = random.pick([1, 64, 1000]);
  return random.pick<() => Buffer<ArrayBuffer>>([
    () => {
      const count = random.pick([2 ** 20, 2 ** 21, 2 ** 22, 8_000_000]);
      return withMore({ entries: [emptyTexts('tokenizer.ggml.tokens', count)] });
    },
    () => withMore({ entries: many(few, (index) => emptyTexts(`list.${index}`, Math.floor(4e6 / few))) }),
    () => {
      const name = 'k'.repeat(random.pick([1, 60, 500]));
      const entry = (index: number): Buffer =>
        Buffer.concat([text(`${name}${index}`), numbers(4, UINT8), Buffer.of(1)]);
      return withMore({ entries: many(65_000, entry) });
    },
    () => {
      const name = 't'.repeat(random.pick([1, 60, 500]));
      return withMore({ tensors: many(60_000, (index) => tensor(`${name}${index}`)) });
    },
    () => {
      const long = Buffer.concat([numbers(4, STRING), text('x'.repeat(2 ** 20 - random.below(2)))]);
      return withMore({ entries: many(40, (index) => Buffer.concat([text(`text.${index}`), long])) });
    },
  ])();
}

/** A safetensors file with as many entries, and as deep ones, as the bytes of its header allow. */
export function hugeSafetensors(random: Random): Buffer<ArrayBuffer> {
  const value = random.pick([
    '1',
    '{}',
    '[]',
    '{"dtype":"I8","shape":[],"data_offsets":[0,1]}',
    '{"dtype":"I8","shape":[1,1,1,1,1,1,1,1],"data_offsets":[0,1]}',
    `{"dtype":"I8","shape":[${'1,'.repeat(1000)}1],"data_offsets":[0,1]}`,
  ]);
  const room = random.pick([2 ** 20, 2 ** 22, 12_000_000]);
  const names = random.pick(['', 'n'.repeat(200)]);
  const good = '"first":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},';
  const entries = Array.from(
    { length: Math.floor(room / (value.length + names.length + 11)) },
    (_, index) => `"${names}${index}":${value}`,
  );
  const json = random.pick([`{${good}${entries.join()}}`, `{${entries.join()}}`, '['.repeat(room)]);
  return Buffer.concat([numbers(8, json.length), Buffer.from(json), Buffer.alloc(8)]);
}
