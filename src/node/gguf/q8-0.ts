import { getFloat16, setFloat16 } from '@petamoriken/float16';

/** Weights a block, in both formats: a scale (and for Q4_1 a minimum) for each 32. Source: ggml's quantization. */
export const BLOCK = 32;
/** float16 scale, float16 minimum, 16 bytes of two 4-bit values each: the low halves come first. */
export const Q4_1_BYTES = 20;
/** float16 scale, 32 signed bytes. */
export const Q8_0_BYTES = 34;

/** Q4_1 blocks → Q8_0 blocks of the same weights: what is added is at most 1/254 of a block's largest weight. */
export function q4_1ToQ8_0(source: Uint8Array): Uint8Array {
  const blocks = source.length / Q4_1_BYTES;
  if (!Number.isInteger(blocks)) throw new RangeError('cut inside a Q4_1 block');
  const target = new Uint8Array(blocks * Q8_0_BYTES);
  const from = new DataView(source.buffer, source.byteOffset, source.byteLength);
  const to = new DataView(target.buffer);
  const weights = new Float32Array(BLOCK);
  for (let block = 0; block < blocks; block++) {
    const at = block * Q4_1_BYTES;
    const scale = getFloat16(from, at, true);
    const minimum = getFloat16(from, at + 2, true);
    let largest = 0;
    for (let i = 0; i < BLOCK; i++) {
      const byte = from.getUint8(at + 4 + (i % 16));
      const weight = minimum + scale * (i < 16 ? byte & 15 : byte >> 4);
      weights[i] = weight;
      largest = Math.max(largest, Math.abs(weight));
    }
    const step = largest / 127;
    const out = block * Q8_0_BYTES;
    setFloat16(to, out, step, true);
    for (const [i, weight] of weights.entries())
      to.setInt8(out + 2 + i, step === 0 ? 0 : Math.round(weight / step));
  }
  return target;
}
