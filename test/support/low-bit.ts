import { setFloat16 } from '@petamoriken/float16';

import type { GgufTensor } from '../../src/gguf/read-gguf.ts';
import { halves } from './requantize.ts';
import { rewriteTensors } from './rewrite-tensors.ts';

/** An element type of few bits: blocks of values, each with its scales. Layouts are those of ggml-common.h. */
interface Format {
  /** ggml's number for the element type. */
  type: number;
  /** llama.cpp's number for a file that is mostly of it. */
  fileType: number;
  values: number;
  bytes: number;
  encode(values: Float32Array, block: DataView): void;
  decode(block: DataView, values: Float32Array): void;
}

const F32 = 0;
const Q4_1 = { type: 3, values: 32, bytes: 20 };

/** Values that share a scale, four scales a block. */
const NVFP4_GROUP = 16;
/** Twice the magnitudes of a sign, two bits of exponent and one of mantissa; the sign is the fourth bit. */
const E2M1 = [0, 1, 2, 3, 4, 6, 8, 12];
/** Half of what an unsigned byte of four bits of exponent and three of mantissa says: 127 is no number. */
const E4M3 = Array.from({ length: 127 }, (_, bits) =>
  bits < 8 ? bits * 2 ** -10 : (8 + (bits & 7)) * 2 ** ((bits >> 3) - 11),
);

const half = (view: DataView, at: number): number => halves[view.getUint16(at, true)] ?? 0;

/** Position of the nearest number of a list. */
function nearest(value: number, list: readonly number[]): number {
  let best = 0;
  for (let at = 1; at < list.length; at++)
    if (Math.abs((list[at] ?? 0) - value) < Math.abs((list[best] ?? 0) - value)) best = at;
  return best;
}

const largestOf = (values: Float32Array): number =>
  values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);

const FORMATS = {
  /** 4 scales, then 16 values in each 8 bytes: the low halves come first. */
  NVFP4: {
    type: 40,
    fileType: 39,
    values: 64,
    bytes: 36,
    encode(values, block) {
      for (let group = 0; group < 4; group++) {
        const own = values.subarray(NVFP4_GROUP * group, NVFP4_GROUP * (group + 1));
        const bits = nearest(largestOf(own) / 12, E4M3);
        const scale = E4M3[bits] || 1;
        block.setUint8(group, bits);
        const code = (value = 0): number => nearest(Math.abs(value) / scale, E2M1) | (value < 0 ? 8 : 0);
        for (let at = 0; at < 8; at++)
          block.setUint8(4 + 8 * group + at, code(own[at]) | (code(own[at + 8]) << 4));
      }
    },
    decode(block, values) {
      for (let at = 0; at < 64; at++) {
        const group = at >> 4;
        const byte = block.getUint8(4 + 8 * group + (at & 7));
        const code = at & 8 ? byte >> 4 : byte & 15;
        const magnitude = (E2M1[code & 7] ?? 0) * (E4M3[block.getUint8(group)] ?? 0);
        values[at] = code & 8 ? -magnitude : magnitude;
      }
    },
  },
  /** A float16 scale, then signs: a bit each, lowest first, 1 for plus. */
  Q1_0: {
    type: 41,
    fileType: 40,
    values: 128,
    bytes: 18,
    encode(values, block) {
      setFloat16(block, 0, values.reduce((sum, value) => sum + Math.abs(value), 0) / values.length, true);
      values.forEach((value, at) => {
        if (value >= 0) block.setUint8(2 + (at >> 3), block.getUint8(2 + (at >> 3)) | (1 << (at & 7)));
      });
    },
    decode(block, values) {
      const scale = half(block, 0);
      for (let at = 0; at < 128; at++)
        values[at] = (block.getUint8(2 + (at >> 3)) >> (at & 7)) & 1 ? scale : -scale;
    },
  },
  /** A float16 scale, then two bits each, lowest first: -1, 0, 1 or 2 times the scale. */
  Q2_0: {
    type: 42,
    fileType: 41,
    values: 64,
    bytes: 18,
    encode(values, block) {
      const scale = largestOf(values) / 1.5;
      setFloat16(block, 0, scale, true);
      values.forEach((value, at) => {
        const code = Math.round(value / (scale || 1)) + 1;
        block.setUint8(2 + (at >> 2), block.getUint8(2 + (at >> 2)) | (code << (2 * (at & 3))));
      });
    },
    decode(block, values) {
      const scale = half(block, 0);
      for (let at = 0; at < 64; at++)
        values[at] = (((block.getUint8(2 + (at >> 2)) >> (2 * (at & 3))) & 3) - 1) * scale;
    },
  },
} satisfies Record<string, Format>;

export type LowBit = keyof typeof FORMATS;

/** A GGUF with its Q4_1 tensors in another format, as far as whole blocks fill their rows. */
export function inFormat(file: Uint8Array<ArrayBuffer>, name: LowBit): Uint8Array<ArrayBuffer> {
  const format: Format = FORMATS[name];
  const converts = ({ type, shape: [row = 0] }: GgufTensor): boolean =>
    type === Q4_1.type && row % format.values === 0;
  return rewriteTensors(file, format.fileType, (tensor, bytes) =>
    converts(tensor) ? { type: format.type, bytes: encode(dequantize(bytes), format) } : null,
  );
}

/** A GGUF with the same numbers in float32: what models of the two say must be the same, but for inputs that are rounded to 8 bits. */
export function inFloat32(file: Uint8Array<ArrayBuffer>, name: LowBit): Uint8Array<ArrayBuffer> {
  const format: Format = FORMATS[name];
  return rewriteTensors(file, F32, ({ type }, bytes) =>
    type === format.type ? { type: F32, bytes: new Uint8Array(decode(bytes, format).buffer) } : null,
  );
}

function encode(values: Float32Array, format: Format): Uint8Array {
  const made = new Uint8Array((values.length / format.values) * format.bytes);
  for (let from = 0, to = 0; from < values.length; from += format.values, to += format.bytes)
    format.encode(values.subarray(from, from + format.values), new DataView(made.buffer, to, format.bytes));
  return made;
}

function decode(bytes: Uint8Array, format: Format): Float32Array<ArrayBuffer> {
  const values = new Float32Array((bytes.length / format.bytes) * format.values);
  for (let from = 0, to = 0; from < bytes.length; from += format.bytes, to += format.values)
    format.decode(
      new DataView(bytes.buffer, bytes.byteOffset + from, format.bytes),
      values.subarray(to, to + format.values),
    );
  return values;
}

function dequantize(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const values = new Float32Array((bytes.length / Q4_1.bytes) * Q4_1.values);
  for (let from = 0, to = 0; from < bytes.length; from += Q4_1.bytes, to += Q4_1.values) {
    const scale = half(view, from);
    const minimum = half(view, from + 2);
    for (let at = 0; at < Q4_1.values; at++) {
      const byte = view.getUint8(from + 4 + (at % 16));
      values[to + at] = minimum + scale * (at < 16 ? byte & 15 : byte >> 4);
    }
  }
  return values;
}
