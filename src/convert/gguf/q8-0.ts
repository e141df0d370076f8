import { getFloat16, setFloat16 } from '@petamoriken/float16';

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

/** Q4_1 blocks → Q8_0 blocks of the same weights: what is added is at most 1/254 of a block's largest weight. */
export function q4_1ToQ8_0(source: Uint8Array): Uint8Array {
  const blocks = source.length / Q4_1_BYTES;
  if (!Number.isInteger(blocks)) throw new RangeError('cut inside a Q4_1 block');
  const target = new Uint8Array(blocks * Q8_0_BYTES);
  const signed = new Int8Array(target.buffer);
  const from = new DataView(source.buffer, source.byteOffset, source.byteLength);
  const to = new DataView(target.buffer);
  for (let block = 0; block < blocks; block++) {
    const scale = float16At(from, block * Q4_1_BYTES);
    const minimum = float16At(from, block * Q4_1_BYTES + 2);
    const values = block * Q4_1_BYTES + 4;
    // A weight is linear in its value: the largest stands at one of the ends.
    let low = 15;
    let high = 0;
    for (let i = values; i < values + BLOCK / 2; i++) {
      const byte = source[i] ?? 0;
      low = Math.min(low, byte & 15, byte >> 4);
      high = Math.max(high, byte & 15, byte >> 4);
    }
    const step = Math.max(Math.abs(minimum + scale * low), Math.abs(minimum + scale * high)) / 127;
    const out = block * Q8_0_BYTES;
    setFloat16(to, out, step, true);
    if (step === 0) continue;
    for (let i = 0; i < BLOCK / 2; i++) {
      const byte = source[values + i] ?? 0;
      signed[out + 2 + i] = Math.round((minimum + scale * (byte & 15)) / step);
      signed[out + 18 + i] = Math.round((minimum + scale * (byte >> 4)) / step);
    }
  }
  return target;
}

const float16At = (view: DataView, at: number): number => float16[view.getUint16(at, true)] ?? 0;
