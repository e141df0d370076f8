import { FormatError, readGguf, readHeader, startOfBlob, TENSOR_TYPES } from '#gguf';

/** Where the numbers of a block are, and how they are written. */
type Numbers = readonly [write: keyof typeof IS_BROKEN, ...offsets: number[]];

/** Scales above this are damage: a weight is some ones at most. The half floats end at 65,504. */
const MAX_SCALE_BITS = 0x6400; // 1024
/** Largest binary exponent of such a scale, in formats that only write the exponent. */
const MAX_EXPONENT = 127 + 10;

/** Whether a number is not finite, or too large for what it is. */
const IS_BROKEN = {
  float: (view: DataView, at: number) => (view.getUint32(at, true) & 0x7f800000) === 0x7f800000,
  brainFloat: (view: DataView, at: number) => (view.getUint16(at, true) & 0x7f80) === 0x7f80,
  half: (view: DataView, at: number) => (view.getUint16(at, true) & 0x7c00) === 0x7c00,
  scale: (view: DataView, at: number) => (view.getUint16(at, true) & 0x7fff) > MAX_SCALE_BITS,
  exponent: (view: DataView, at: number) => view.getUint8(at) > MAX_EXPONENT,
} as const;
const BYTES = { float: 4, brainFloat: 2, half: 2, scale: 2, exponent: 1 } as const;

/**
 * Numbers by the name of an element type, as ggml-common.h has them. The types that are absent have scales of 8 bits,
 * or spread a scale over several bytes.
 */
const NUMBERS: Readonly<Record<string, Numbers>> = {
  F32: ['float', 0],
  F16: ['half', 0],
  BF16: ['brainFloat', 0],
  Q4_0: ['scale', 0],
  Q4_1: ['scale', 0, 2],
  Q5_0: ['scale', 0],
  Q5_1: ['scale', 0, 2],
  Q8_0: ['scale', 0],
  Q8_1: ['scale', 0, 2],
  Q2_K: ['scale', 80, 82],
  Q3_K: ['scale', 108],
  Q4_K: ['scale', 0, 2],
  Q5_K: ['scale', 0, 2],
  Q6_K: ['scale', 208],
  Q8_K: ['float', 0],
  IQ2_XXS: ['scale', 0],
  IQ2_XS: ['scale', 0],
  IQ2_S: ['scale', 0],
  IQ3_XXS: ['scale', 0],
  IQ3_S: ['scale', 0],
  IQ1_S: ['scale', 0],
  IQ4_NL: ['scale', 0],
  IQ4_XS: ['scale', 0],
  TQ1_0: ['scale', 52],
  TQ2_0: ['scale', 64],
  MXFP4: ['exponent', 0],
  Q1_0: ['scale', 0],
  Q2_0: ['scale', 0],
};

interface Part {
  tensor: string;
  start: number;
  end: number;
  blockBytes: number;
  numbers: Numbers;
}

/**
 * Finds damaged numbers in the weights of a GGUF file while it is read: infinite, NaN, or scales that no trained model
 * has. llama.cpp and the kernels (tools/kernels) compute with them and generate text that looks right.
 */
export class NumberCheck {
  #broken: string | null = null;
  readonly #parts: readonly Part[];

  constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  /** Reads the header. A malformed one has nothing to check: llama.cpp reports the reason. */
  static async of(gguf: Blob): Promise<NumberCheck> {
    const header = await readHeader(startOfBlob(gguf), readGguf).catch((error: unknown) => {
      if (error instanceof FormatError) return null;
      throw error;
    });
    const parts = (header?.tensors ?? []).flatMap((tensor): Part[] => {
      const type = TENSOR_TYPES.get(tensor.type);
      const numbers = type && NUMBERS[type.name];
      if (!type || !numbers) return [];
      const start = (header?.dataOffset ?? 0) + tensor.offset;
      const count = tensor.shape.reduce((product, length) => product * length, 1);
      const end = start + Math.floor(count / type.elements) * type.bytes;
      return [{ tensor: tensor.name, start, end, blockBytes: type.bytes, numbers }];
    });
    return new NumberCheck(parts);
  }

  /** Name of a tensor with a damaged number; null if none was read. */
  get broken(): string | null {
    return this.#broken;
  }

  /** Checks bytes of the file. @param at their position in it */
  check(at: number, bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (const part of this.#parts)
      if (part.start < at + bytes.length && part.end > at && isBroken(part, view, at))
        this.#broken ??= part.tensor;
  }
}

/** Whether a number of a tensor that is whole in the bytes at `from` is damaged. */
function isBroken(
  { start, end, blockBytes, numbers: [write, ...offsets] }: Part,
  view: DataView,
  from: number,
): boolean {
  const isBrokenAt = IS_BROKEN[write];
  for (const offset of offsets) {
    const first = start - from + offset;
    const skipped = Math.max(0, Math.ceil(-first / blockBytes));
    const last = Math.min(end - from, view.byteLength) - BYTES[write];
    for (let at = first + skipped * blockBytes; at <= last; at += blockBytes)
      if (isBrokenAt(view, at)) return true;
  }
  return false;
}
