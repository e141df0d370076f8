import type { Random } from '../chaos/random.ts';
import { hugeGguf, hugeSafetensors } from './hostile-header.ts';
import { tinyVision } from '../support/vision/tiny-vision.ts';
import { chatMetadata, oneTensor, writeGguf } from '../support/write-gguf.ts';

export interface HostileFile {
  kind: 'model' | 'projector' | 'safetensors';
  file: Buffer<ArrayBuffer>;
}

const NUMBERS = [
  0n,
  1n,
  2n,
  0x7fn,
  0xffn,
  0xffffn,
  0x7fffffffn,
  0xffffffffn,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
];

const sound: Record<HostileFile['kind'], Buffer> = {
  model: writeGguf({
    metadata: {
      ...chatMetadata,
      'split.count': 1,
      'llama.pooling_type': 0,
      'tokenizer.ggml.tokens': ['a', '<|im_end|>', 'bc', '<|im_start|>'],
    },
    tensors: [oneTensor, { ...oneTensor, name: 'output.weight' }],
  }),
  projector: Buffer.from(tinyVision().projector),
  safetensors: safetensors(),
};
/** Bytes of each that changes go to, most of the time: what the header is. */
const HEADER = { model: 1000, projector: 2000, safetensors: 200 };

function safetensors(): Buffer {
  const header = Buffer.from(
    JSON.stringify({
      __metadata__: { format: 'pt' },
      a: { dtype: 'F32', shape: [2, 4], data_offsets: [0, 32] },
      b: { dtype: 'I8', shape: [16], data_offsets: [32, 48] },
    }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(48)]);
}

/** One file of so many is huge: it takes as long as a hundred others. */
const HUGE = 25;

/** A sound file with some damage: other bytes, numbers, texts, a part that is missing, doubled or of another file; or a huge header. */
export function hostileFile(random: Random): HostileFile {
  const kind = random.pick(['model', 'projector', 'safetensors'] as const);
  if (random.below(HUGE) === 0)
    return { kind, file: kind === 'safetensors' ? hugeSafetensors(random) : hugeGguf(random) };
  let file = Buffer.from(sound[kind]);
  for (let changes = random.below(4); changes > 0; changes--) file = damaged(file, HEADER[kind], random);
  return { kind, file };
}

/** @param header bytes at its begin that changes go to */
export function damaged(file: Buffer<ArrayBuffer>, header: number, random: Random): Buffer<ArrayBuffer> {
  const place = (): number => random.below(Math.min(file.length, header));
  const [from, to] = [place(), place()].toSorted((a, b) => a - b) as [number, number];
  switch (random.below(7)) {
    case 0:
      file[from] = random.below(256);
      return file;
    case 1:
      return withNumber(file, random.below(4) * 8, random);
    case 2:
      return withNumber(file, from, random);
    case 3:
      return file.subarray(0, random.pick([from, file.length - random.below(64)]));
    case 4:
      return Buffer.concat([file.subarray(0, to), file.subarray(from)]);
    case 5:
      return Buffer.concat([file.subarray(0, from), file.subarray(to)]);
    default:
      return Buffer.concat([file.subarray(0, to), random.pick(Object.values(sound)).subarray(from)]);
  }
}

function withNumber(file: Buffer<ArrayBuffer>, at: number, random: Random): Buffer<ArrayBuffer> {
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(random.pick(NUMBERS));
  number.subarray(0, random.pick([4, 8])).copy(file, at);
  return file;
}
