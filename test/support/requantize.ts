import { getFloat16, setFloat16 } from '@petamoriken/float16';

import { rewriteTensors } from './rewrite-tensors.ts';

/** Values a block, in both formats. */
const BLOCK = 32;
/** float16 scale, float16 minimum, 16 bytes of two 4-bit values each: the low halves come first. */
const Q4_1_BYTES = 20;
/** float16 scale, 32 signed bytes. */
const Q8_0_BYTES = 34;
/** ggml's numbers. */
const Q4_1 = 3;
const Q8_0 = 8;
/** llama.cpp's number for a file that is mostly Q8_0. */
const MOSTLY_Q8_0 = 7;

/** The same model with its Q4_1 tensors as Q8_0: the file that earlier versions made in the browser, stored there, and loaded. */
export const requantize = (file: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> =>
  rewriteTensors(file, MOSTLY_Q8_0, ({ type }, bytes) =>
    type === Q4_1 ? { type: Q8_0, bytes: convert(bytes) } : null,
  );

/** Float16 values by their bits: a look-up is some ten times as quick as the library's call. */
export const halves = Float32Array.from({ length: 65_536 }, (_, bits) =>
  getFloat16(new DataView(Uint16Array.of(bits).buffer), 0, true),
);

function convert(source: Uint8Array): Uint8Array {
  const blocks = source.length / Q4_1_BYTES;
  const target = new Uint8Array(blocks * Q8_0_BYTES);
  const from = new DataView(source.buffer, source.byteOffset, source.byteLength);
  const to = new DataView(target.buffer);
  const values = new Float64Array(BLOCK);
  for (let block = 0; block < blocks; block++) {
    const at = block * Q4_1_BYTES;
    const out = block * Q8_0_BYTES;
    const scale = halves[from.getUint16(at, true)] ?? 0;
    const minimum = halves[from.getUint16(at + 2, true)] ?? 0;
    let largest = 0;
    for (let i = 0; i < BLOCK; i++) {
      const byte = source[at + 4 + (i % (BLOCK / 2))] ?? 0;
      const value = minimum + scale * (i < BLOCK / 2 ? byte & 15 : byte >> 4);
      values[i] = value;
      largest = Math.max(largest, Math.abs(value));
    }
    const step = largest / 127;
    setFloat16(to, out, step, true);
    if (step === 0) continue;
    for (let i = 0; i < BLOCK; i++) target[out + 2 + i] = Math.round((values[i] ?? 0) / step);
  }
  return target;
}
