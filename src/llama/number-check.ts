import { openGguf, TENSOR_TYPES } from '#gguf';

/** Scales above this are damage: a weight is some ones at most. The half floats end at 65,504. */
const MAX_SCALE_BITS = 0x6400; // 1024
/** Largest binary exponent of such a scale, in a format that only writes the exponent. */
const MAX_EXPONENT = 127 + 10;

type IsBroken = (bytes: Uint8Array, at: number) => boolean;

const isLargeHalf = (bits: number): boolean => (bits & 0x7fff) > MAX_SCALE_BITS;
const isLarge = (bytes: Uint8Array, at: number): boolean =>
  isLargeHalf(((bytes[at + 1] ?? 0) << 8) | (bytes[at] ?? 0));
/** A half float in the highest four bits of four 16-bit words. */
const isSpreadLarge = (bytes: Uint8Array, at: number): boolean =>
  isLargeHalf([7, 5, 3, 1].reduce((bits, offset) => (bits << 4) | ((bytes[at + offset] ?? 0) >> 4), 0));

/** One or two half floats at these offsets of a block. */
const scales = (...offsets: number[]): IsBroken => {
  const [first = 0, second = first] = offsets;
  return (bytes, at) => isLarge(bytes, at + first) || isLarge(bytes, at + second);
};

/**
 * Bits that the exponents of broken numbers have in 32 bits of floats: of the first number and of the last, which may
 * be the same. Those of 32 bits and of BF16 are broken from 2^65 on, long before any product is infinite.
 */
type Exponents = readonly [first: number, last: number];

type Numbers = Exponents | IsBroken;

const inAll = (types: string, numbers: Numbers): Record<string, Numbers> =>
  Object.fromEntries(types.split(' ').map((type) => [type, numbers]));

/**
 * Where the numbers are, as ggml-common.h has them. The types that are absent have scales of 8 bits, which are never
 * infinite or NaN.
 */
const NUMBERS: Readonly<Record<string, Numbers>> = {
  F32: [0x60000000, 0x60000000],
  F16: [0x7c00, 0x7c000000],
  BF16: [0x6000, 0x60000000],
  ...inAll('Q4_0 Q5_0 Q8_0 IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S IQ1_S IQ4_NL IQ4_XS Q1_0 Q2_0', scales(0)),
  ...inAll('Q4_1 Q5_1 Q8_1 Q4_K Q5_K', scales(0, 2)),
  Q2_K: scales(80, 82),
  Q3_K: scales(108),
  Q6_K: scales(208),
  IQ1_M: (bytes, at) => isSpreadLarge(bytes, at + 48),
  TQ1_0: scales(52),
  TQ2_0: scales(64),
  MXFP4: (bytes, at) => (bytes[at] ?? 0) > MAX_EXPONENT,
};

interface Part {
  tensor: string;
  start: number;
  end: number;
  blockBytes: number;
  numbers: Numbers;
}

/** Factors of all that a layer, or an adapter, computes: zeros alone come of a download that did not end. */
const FACTORS = /(^|[._])(attn|ffn|output)_norm\.weight$|\.lora_a$/;

/**
 * Finds damaged numbers in the weights of a GGUF file while it is read: infinite, NaN, norms of zeros, or scales that no
 * trained model has. llama.cpp and the kernels (tools/kernels) compute with them and generate text that looks right.
 */
export async function numberCheck(gguf: Blob) {
  const { header } = await openGguf(gguf);
  const { tensors, dataOffset } = header;
  const parts = tensors.flatMap((tensor): Part[] => {
    const type = TENSOR_TYPES.get(tensor.type);
    const numbers = type && NUMBERS[type.name];
    if (!type || !numbers) return [];
    const start = dataOffset + tensor.offset;
    const count = tensor.shape.reduce((product, length) => product * length, 1);
    const end = start + Math.floor(count / type.elements) * type.bytes;
    const part = { tensor: tensor.name, start, end, blockBytes: type.bytes, numbers };
    const blockBytes = end - start;
    const isZero: IsBroken = (bytes, at) => !bytes.subarray(at, at + blockBytes).some(Boolean);
    return FACTORS.test(tensor.name) ? [part, { ...part, blockBytes, numbers: isZero }] : [part];
  });
  let broken: string | null = null;
  return {
    /** Name of a tensor with a damaged number; null if none was read. */
    broken: () => broken,
    /** Checks bytes of the file. @param at their position in it */
    check(at: number, bytes: Uint8Array): void {
      for (const part of parts)
        if (part.start < at + bytes.length && part.end > at && hasBroken(part, bytes, at))
          broken ??= part.tensor;
    },
  };
}

/** Whether a number of a tensor's block that is whole in the bytes at `from` is damaged. */
function hasBroken({ start, end, blockBytes, numbers }: Part, bytes: Uint8Array, from: number): boolean {
  const offset = start - from;
  const first = offset + Math.max(0, Math.ceil(-offset / blockBytes)) * blockBytes;
  const last = Math.min(end - from, bytes.length) - blockBytes;
  if (typeof numbers !== 'function') return hasInfinite(bytes.subarray(first, last + blockBytes), numbers);
  for (let at = first; at <= last; at += blockBytes) if (numbers(bytes, at)) return true;
  return false;
}

function hasInfinite(floats: Uint8Array, [first, last]: Exponents): boolean {
  const words = new Uint32Array(Math.ceil(floats.length / 4));
  new Uint8Array(words.buffer).set(floats);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? 0;
    if ((word & first) === first || (word & last) === last) return true;
  }
  return false;
}
