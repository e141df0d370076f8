import { getFloat16 } from '@petamoriken/float16';

import { readHeader, startOfBlob } from './byte-cursor.ts';
import { align, type Gguf, type GgufTensor, readGguf, tensorBytes } from './read-gguf.ts';

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
const q8_0Bytes = (q4_1Bytes: number): number => (q4_1Bytes / Q4_1_BYTES) * Q8_0_BYTES;

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

type Bytes = Uint8Array<ArrayBuffer>;

/** ggml's numbers. */
const F32 = 0;
const Q4_1 = 3;
const Q8_0 = 8;
/** llama.cpp's number for a file that is mostly Q8_0. */
const MOSTLY_Q8_0 = 7;

/** Converted at a time: a whole number of blocks. */
const SLICE_BYTES = 20 * 2 ** 16;

/**
 * The same model with its Q4_1 tensors as Q8_0, in slices: each is valid until the next one is asked for. llama.cpp's
 * WASM kernel for Q8_0 decodes and prefills faster than the one for Q4_1 (docs/decisions/smollm2.md).
 * @throws FormatError for a file that is no GGUF or is cut short; RangeError for other quantizations.
 */
export async function* requantizeToQ8_0(file: Blob): AsyncGenerator<Bytes, void, undefined> {
  const gguf = await readHeader(startOfBlob(file), readGguf);
  for (const { name, type } of gguf.tensors) {
    if (type !== F32 && type !== Q4_1 && type !== Q8_0)
      throw new RangeError(`${name} has element type ${type}, which is none of F32, Q4_1 and Q8_0`);
  }
  const head = await bytesOf(file.slice(0, gguf.tensorsAt));
  const fileType = gguf.metadata.get('general.file_type')?.at;
  if (fileType !== undefined) new DataView(head.buffer).setUint32(fileType, MOSTLY_Q8_0, true);
  yield head;
  const infos = tensorInfos(gguf);
  yield infos;
  yield padding(head.length + infos.length, gguf);
  // One for all slices, as browsers collect large buffers late.
  const buffer = new Uint8Array(q8_0Bytes(SLICE_BYTES));
  for (const tensor of gguf.tensors) {
    yield* convertedSlices(file, gguf, tensor, buffer);
    yield padding(convertedBytes(tensor), gguf);
  }
}

const bytesOf = async (blob: Blob): Promise<Bytes> => new Uint8Array(await blob.arrayBuffer());

const padding = (bytes: number, { alignment }: Gguf): Bytes =>
  new Uint8Array(align(bytes, alignment) - bytes);

async function* convertedSlices(
  file: Blob,
  { dataOffset }: Gguf,
  tensor: GgufTensor,
  buffer: Bytes,
): AsyncGenerator<Bytes> {
  const end = dataOffset + tensor.offset + tensorBytes(tensor);
  for (let at = dataOffset + tensor.offset; at < end; at += SLICE_BYTES) {
    const slice = await bytesOf(file.slice(at, Math.min(end, at + SLICE_BYTES)));
    yield tensor.type === Q4_1 ? q4_1ToQ8_0(slice, buffer) : slice;
  }
}

const convertedType = ({ type }: GgufTensor): number => (type === Q4_1 ? Q8_0 : type);

const convertedBytes = (tensor: GgufTensor): number =>
  tensorBytes({ ...tensor, type: convertedType(tensor) });

function tensorInfos(gguf: Gguf): Bytes {
  const names = gguf.tensors.map(({ name }) => new TextEncoder().encode(name));
  const length = gguf.tensors.reduce(
    (sum, { shape }, index) => sum + 8 + (names[index]?.length ?? 0) + 4 + 8 * shape.length + 4 + 8,
    0,
  );
  const infos = new Uint8Array(length);
  const view = new DataView(infos.buffer);
  let at = 0;
  const u32 = (value: number): void => {
    view.setUint32(at, value, true);
    at += 4;
  };
  const u64 = (value: number): void => {
    view.setBigUint64(at, BigInt(value), true);
    at += 8;
  };
  let offset = 0;
  for (const [index, tensor] of gguf.tensors.entries()) {
    const name = names[index] ?? new Uint8Array();
    u64(name.length);
    infos.set(name, at);
    at += name.length;
    u32(tensor.shape.length);
    for (const size of tensor.shape) u64(size);
    u32(convertedType(tensor));
    u64(offset);
    offset = align(offset + convertedBytes(tensor), gguf.alignment);
  }
  return infos;
}
