import { getFloat16 } from '@petamoriken/float16';

/** Weights a block, in both formats: a scale (and for Q4_1 a minimum) for each 32. Source: ggml's quantization. */
const BLOCK = 32;
/** float16 scale, float16 minimum, 16 bytes of two 4-bit values each: the low halves come first. */
const Q4_1_BYTES = 20;
/** float16 scale, 32 signed bytes. */
const Q8_0_BYTES = 34;

/** Every float16 by its bits: a look-up is some ten times as quick as the library's call. */
const float16 = Float32Array.from({ length: 65536 }, (_, bits) =>
  getFloat16(new DataView(Uint16Array.of(bits).buffer), 0, true),
);

/** Bytes of the Q8_0 blocks that so many bytes of Q4_1 become. */
export const q8_0Bytes = (q4_1Bytes: number): number => (q4_1Bytes / Q4_1_BYTES) * Q8_0_BYTES;

/**
 * Q4_1 blocks → Q8_0 blocks of the same weights: what is added is at most 1/254 of a block's largest weight.
 * @returns the start of `buffer`
 */
export function q4_1ToQ8_0(
  source: Uint8Array,
  buffer: Uint8Array<ArrayBuffer> = new Uint8Array(q8_0Bytes(source.length)),
): Uint8Array<ArrayBuffer> {
  const blocks = source.length / Q4_1_BYTES;
  if (!Number.isInteger(blocks)) throw new RangeError('cut inside a Q4_1 block');
  const target = buffer.subarray(0, blocks * Q8_0_BYTES).fill(0);
  const from = new DataView(source.buffer, source.byteOffset, source.byteLength);
  const to = new DataView(target.buffer, target.byteOffset, target.byteLength);
  /** By 4-bit value: the block's 16 possible weights, in Q8_0. */
  const converted = new Int8Array(16);
  for (let block = 0; block < blocks; block++) {
    const scale = float16At(from, block * Q4_1_BYTES);
    const minimum = float16At(from, block * Q4_1_BYTES + 2);
    const values = block * Q4_1_BYTES + 4;
    // A weight is linear in its value, so the largest is at one of the ends.
    let seen = 0;
    for (let i = values; i < values + BLOCK / 2; i++) {
      const byte = source[i] ?? 0;
      seen |= (1 << (byte & 15)) | (1 << (byte >> 4));
    }
    const low = 31 - Math.clz32(seen & -seen);
    const high = 31 - Math.clz32(seen);
    const step = Math.max(Math.abs(minimum + scale * low), Math.abs(minimum + scale * high)) / 127;
    const out = block * Q8_0_BYTES;
    to.setUint16(out, nearestFloat16(step), true);
    if (step === 0) continue;
    for (let value = low; value <= high; value++)
      converted[value] = Math.round((minimum + scale * value) / step);
    for (let i = 0; i < BLOCK / 2; i++) {
      const byte = source[values + i] ?? 0;
      target[out + 2 + i] = converted[byte & 15] ?? 0;
      target[out + 18 + i] = converted[byte >> 4] ?? 0;
    }
  }
  return target;
}

const float16At = (view: DataView, at: number): number => halfAt(view.getUint16(at, true));

const float32 = new Float32Array(1);
const float32Bits = new Uint32Array(float32.buffer);
const SMALLEST_NORMAL = 2 ** -14;
/** What lies between the exponents of float32 and float16, in float16's place. */
const EXPONENTS = (127 - 15) << 10;

/** Bits of the float16 nearest to a value of 0 to 65504, the even one of two. The library's call takes eight times all else. */
function nearestFloat16(value: number): number {
  float32[0] = value;
  let bits =
    value < SMALLEST_NORMAL ? Math.floor(value * 2 ** 24) : ((float32Bits[0] ?? 0) >>> 13) - EXPONENTS;
  // float32 may have been rounded up.
  if (halfAt(bits) > value) bits--;
  const below = value - halfAt(bits);
  const above = halfAt(bits + 1) - value;
  return above < below || (above === below && bits % 2 === 1) ? bits + 1 : bits;
}

const halfAt = (bits: number): number => float16[bits] ?? 0;
