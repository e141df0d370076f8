import { getFloat16, setFloat16 } from '@petamoriken/float16';

/** A type of weights: ggml's number, bytes and values of a block, where the quants begin. */
export interface WeightType {
  name: string;
  id: number;
  bytes: number;
  values: number;
  /** Positions of half floats in a block. */
  halves: readonly number[];
}

const type = (name: string, id: number, bytes: number, values: number, ...halves: number[]): WeightType => ({
  name,
  id,
  bytes,
  values,
  halves,
});

export const WEIGHT_TYPES = [
  type('Q8_0', 8, 34, 32, 0),
  type('Q4_0', 2, 18, 32, 0),
  type('Q4_1', 3, 20, 32, 0, 2),
  type('Q5_0', 6, 22, 32, 0),
  type('Q5_1', 7, 24, 32, 0, 2),
  type('Q4_K', 12, 144, 256, 0, 2),
  type('Q5_K', 13, 176, 256, 0, 2),
  type('Q6_K', 14, 210, 256, 208),
];

/** Random weights: all bytes but the scales, which are small half floats. */
export function fillWeights(
  { bytes, halves }: WeightType,
  view: DataView,
  at: number,
  blocks: number,
  random: () => number,
): void {
  for (let block = 0; block < blocks; block++) {
    const start = at + block * bytes;
    for (let i = 0; i < bytes; i++) view.setUint8(start + i, random() * 256);
    for (const half of halves) setFloat16(view, start + half, (random() - 0.4) * 0.01, true);
  }
}

const bits = (byte: number, shift: number, count: number): number => (byte >> shift) & ((1 << count) - 1);

/** Scale and offset of a part of 32 values in Q4_K and Q5_K: 6 bits each, in 12 bytes. */
function packedScales(view: DataView, at: number, part: number): [scale: number, offset: number] {
  const byte = (i: number): number => view.getUint8(at + i);
  if (part < 4) return [bits(byte(part), 0, 6), bits(byte(part + 4), 0, 6)];
  const low = byte(part + 4);
  return [
    bits(low, 0, 4) | (bits(byte(part - 4), 6, 2) << 4),
    bits(low, 4, 4) | (bits(byte(part), 6, 2) << 4),
  ];
}

/** The whole number that a value is stored as, without its scale. */
export function quantOf({ name }: WeightType, view: DataView, block: number, i: number): number {
  const byte = (at: number): number => view.getUint8(block + at);
  const nibble = (first: number): number =>
    i < 16 ? bits(byte(first + i), 0, 4) : bits(byte(first + i - 16), 4, 4);
  const fifth = (first: number): number => bits(byte(first + (i >> 3)), i & 7, 1) << 4;
  const part = i >> 5;
  const half = i & 31;
  switch (name) {
    case 'Q8_0':
      return view.getInt8(block + 2 + i);
    case 'Q4_0':
      return nibble(2) - 8;
    case 'Q4_1':
      return nibble(4);
    case 'Q5_0':
      return (nibble(6) | fifth(2)) - 16;
    case 'Q5_1':
      return nibble(8) | fifth(4);
    case 'Q4_K':
      return bits(byte(16 + 32 * (part >> 1) + half), 4 * (part & 1), 4);
    case 'Q5_K':
      return (
        bits(byte(48 + 32 * (part >> 1) + half), 4 * (part & 1), 4) | (bits(byte(16 + half), part, 1) << 4)
      );
    case 'Q6_K': {
      const upper = part >> 2;
      const quarter = part & 3;
      const low = bits(byte(64 * upper + 32 * (quarter & 1) + half), quarter < 2 ? 0 : 4, 4);
      return (low | (bits(byte(128 + 32 * upper + half), 2 * quarter, 2) << 4)) - 32;
    }
    default:
      throw new Error(`No such type: ${name}`);
  }
}

/** A value of a block of 256, in double precision. */
export function valueOf(weights: WeightType, view: DataView, block: number, i: number): number {
  const quant = quantOf(weights, view, block, i);
  if (weights.name === 'Q6_K') {
    const scale = view.getInt8(block + 192 + (i >> 4));
    return getFloat16(view, block + 208, true) * scale * quant;
  }
  const [scale, offset] = packedScales(view, block + 4, i >> 5);
  return getFloat16(view, block, true) * scale * quant - getFloat16(view, block + 2, true) * offset;
}

const f32 = Math.fround;

export interface QuantizedBlock {
  quants: number[];
  scale: number;
  /** The quants' sum times the scale: of Q8_1. */
  sum: number;
}

const asHalf = (number: number): number => {
  const view = new DataView(new ArrayBuffer(2));
  setFloat16(view, 0, number);
  return getFloat16(view, 0);
};

/** Ties go away from zero. */
const rounded = (number: number): number => Math.sign(number) * Math.floor(Math.abs(number) + 0.5);

/** 32 floats as llama.cpp quantizes a column to Q8_0 and Q8_1. */
export function quantize32(values: readonly number[]): QuantizedBlock {
  const scale = f32(Math.max(...values.map(Math.abs)) / 127);
  const inverse = scale === 0 ? 0 : f32(1 / scale);
  const quants = values.map((value) => rounded(f32(value * inverse)));
  const sum = quants.reduce((a, b) => a + b, 0);
  return { quants, scale: asHalf(scale), sum: asHalf(f32(sum * scale)) };
}

/** 256 floats as llama.cpp quantizes a column to Q8_K. */
export function quantize256(values: readonly number[]): QuantizedBlock {
  const largest = values.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
  if (largest === 0) return { quants: values.map(() => 0), scale: 0, sum: 0 };
  const inverse = f32(-127 / largest);
  const quants = values.map((value) => Math.min(127, Math.round(f32(inverse * value))));
  return { quants, scale: f32(1 / inverse), sum: 0 };
}

/** Writes a block of Q8_K: scale, quants, sums of 16. */
export function writeQ8K(view: DataView, at: number, { quants, scale }: QuantizedBlock): void {
  view.setFloat32(at, scale, true);
  for (const [i, quant] of quants.entries()) view.setInt8(at + 4 + i, quant);
  for (let i = 0; i < quants.length; i += 16) {
    const sum = quants.slice(i, i + 16).reduce((a, b) => a + b, 0);
    view.setInt16(at + 4 + quants.length + i / 8, sum, true);
  }
}

/** The product of a row's block of 32 with a column's, with llama.cpp's roundings. */
export function blockProduct(
  weights: WeightType,
  view: DataView,
  block: number,
  column: QuantizedBlock,
): number {
  let sum = 0;
  for (const [i, quant] of column.quants.entries()) sum += quantOf(weights, view, block, i) * quant;
  const scale = getFloat16(view, block, true);
  if (weights.name === 'Q4_0') return f32(f32(sum * scale) * column.scale);
  const product = f32(sum * f32(scale * column.scale));
  if (weights.halves.length === 1) return product;
  return f32(product + f32(getFloat16(view, block + 2, true) * column.sum));
}
