import { VOICE_RATE } from './waveform.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Samples of a frame, at most. */
const MAX_BLOCK = 4096;
const MAX_ORDER = 4;
const MAX_RICE = 14;

/** CRC without reflection, of `bits` bits. */
const crc = (bytes: ArrayLike<number>, bits: 8 | 16, polynomial: number): number => {
  let remainder = 0;
  const top = 1 << (bits - 1);
  for (let at = 0; at < bytes.length; at++) {
    remainder ^= (bytes[at] ?? 0) << (bits - 8);
    for (let bit = 0; bit < 8; bit++)
      remainder = ((remainder << 1) ^ (remainder & top ? polynomial : 0)) & (2 * top - 1);
  }
  return remainder;
};

class BitWriter {
  readonly bytes: number[] = [];
  #partial = 0;
  #bits = 0;

  /** Writes the low `bits` bits of a value, of which those above 32 are 0. */
  write(value: number, bits: number): void {
    for (let bit = bits - 1; bit >= 0; bit--) {
      this.#partial = (this.#partial << 1) | (bit < 32 ? (value >>> bit) & 1 : 0);
      if (++this.#bits < 8) continue;
      this.bytes.push(this.#partial);
      this.#partial = 0;
      this.#bits = 0;
    }
  }

  align(): void {
    if (this.#bits > 0) this.write(0, 8 - this.#bits);
  }
}

/** Writes a number in the form of UTF-8, extended to 36 bits. */
function writeCoded(out: BitWriter, value: number): void {
  if (value < 0x80) return out.write(value, 8);
  let more = 1;
  while (value >= 2 ** (6 + 5 * more)) more++;
  out.write(((0xff00 >> (more + 1)) & 0xff) | Math.floor(value / 64 ** more), 8);
  for (let part = more - 1; part >= 0; part--) out.write(0x80 | Math.floor((value / 64 ** part) % 64), 8);
}

/** Differences of each order; those of order n begin at n. */
function differences(samples: Int32Array): Int32Array[] {
  const orders = [samples];
  for (let order = 1; order <= MAX_ORDER && order < samples.length; order++) {
    const before = orders[order - 1] ?? samples;
    orders.push(before.map((value, at) => (at < order ? 0 : value - (before[at - 1] ?? 0))));
  }
  return orders;
}

/** Writes a block by the fixed predictor that leaves least, and the rest in Rice codes. */
function writeSubframe(out: BitWriter, samples: Int32Array): void {
  const sizes = differences(samples).map((rest, order) => {
    let sum = 0;
    for (let at = order; at < rest.length; at++) sum += Math.abs(rest[at] ?? 0);
    return { rest, order, sum };
  });
  const { rest, order, sum } = sizes.reduce((best, next) => (next.sum < best.sum ? next : best));
  const mean = (2 * sum) / Math.max(1, rest.length - order);
  const rice = Math.min(MAX_RICE, Math.max(0, Math.floor(Math.log2(mean + 1))));
  out.write(0b0010000 | (order << 1), 8);
  for (let at = 0; at < order; at++) out.write(samples[at] ?? 0, 16);
  // Codes of one partition, with a parameter of 4 bits.
  out.write(0, 6);
  out.write(rice, 4);
  for (let at = order; at < rest.length; at++) {
    const value = rest[at] ?? 0;
    const folded = value >= 0 ? 2 * value : -2 * value - 1;
    out.write(0, folded >>> rice);
    out.write(1, 1);
    out.write(folded, rice);
  }
}

function frame(samples: Int32Array, position: number): number[] {
  const out = new BitWriter();
  // Blocks of varying length, which is in 16 bits; 24 kHz, one channel, 16 bits a sample.
  for (const byte of [0xff, 0xf9, 0x77, 0x08]) out.write(byte, 8);
  writeCoded(out, position);
  out.write(samples.length - 1, 16);
  out.write(crc(out.bytes, 8, 0x07), 8);
  writeSubframe(out, samples);
  out.align();
  out.write(crc(out.bytes, 16, 0x8005), 16);
  return out.bytes;
}

/** Fields of the only block before the frames, and their bits. */
const HEADER = [
  // The last block, of 34 bytes.
  [0x80, 8],
  [34, 24],
  // Samples of a frame. Sizes of frames are unknown.
  [16, 16],
  [MAX_BLOCK, 16],
  [0, 48],
  // One channel, 16 bits a sample.
  [VOICE_RATE, 20],
  [0, 3],
  [15, 5],
  // Neither a count of samples nor their hash.
  [0, 164],
] as const;

/** Beginning of a FLAC file whose length is not known yet. */
export function flacHeader(): Bytes {
  const out = new BitWriter();
  for (const letter of 'fLaC') out.write(letter.charCodeAt(0), 8);
  for (const [value, bits] of HEADER) out.write(value, bits);
  return Uint8Array.from(out.bytes);
}

/**
 * Encodes samples as FLAC frames. Own code, because encoders number a stream's samples from 0: a speech that another engine
 * resumes continues the count. libFLAC decodes it, and files are some 6 % larger than its own.
 * @param position samples of the speech before these
 */
export function flacFrames(samples: Float32Array, position: number): Bytes {
  const whole = Int32Array.from(samples, (sample) => Math.round(sample * 32_767));
  const count = Math.ceil(whole.length / MAX_BLOCK);
  const startOf = (block: number): number => Math.floor((whole.length * block) / count);
  const blocks = Array.from({ length: count }, (_, block) =>
    frame(whole.subarray(startOf(block), startOf(block + 1)), position + startOf(block)),
  );
  return Uint8Array.from(blocks.flat());
}
