import { q4_1ToQ8_0, q8_0Bytes } from './q8-0.ts';
import { readHeader, startOfBlob } from './read-header.ts';
import { align, type Gguf, type GgufTensor, readGguf, tensorBytes } from './read-gguf.ts';

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
    yield* converted(file, gguf, tensor, buffer);
    yield padding(convertedBytes(tensor), gguf);
  }
}

const bytesOf = async (blob: Blob): Promise<Bytes> => new Uint8Array(await blob.arrayBuffer());

const padding = (bytes: number, { alignment }: Gguf): Bytes =>
  new Uint8Array(align(bytes, alignment) - bytes);

async function* converted(
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
