import { q4_1ToQ8_0 } from './q8-0.ts';
import { ByteCursor } from '../../gguf/byte-cursor.ts';
import { align, type Gguf, type GgufTensor, readGguf, tensorBytes } from '../../gguf/read-gguf.ts';

/** ggml's numbers. */
const F32 = 0;
const Q4_1 = 3;
const Q8_0 = 8;
const CONVERTIBLE = new Set([F32, Q4_1, Q8_0]);
/** llama.cpp's number for a file that is mostly Q8_0. */
const MOSTLY_Q8_0 = 7;

/**
 * The same model with its Q4_1 tensors as Q8_0. llama.cpp's WASM kernel for Q8_0 decodes and prefills faster than
 * the one for Q4_1, by more than the larger file costs to load (docs/decisions/q8-0-weights.md).
 * @throws FormatError for a file that is no GGUF or is cut short; RangeError for other quantizations.
 */
export function requantizeToQ8_0(file: Uint8Array): Uint8Array {
  const gguf = readGguf(new ByteCursor(file, file.length));
  const data = gguf.tensors.map((tensor) => converted(file, gguf, tensor));
  const infos = Buffer.concat(tensorInfos(gguf, data));
  const head = Buffer.from(file.subarray(0, gguf.tensorsAt));
  const fileType = gguf.metadata.get('general.file_type')?.at;
  if (fileType !== undefined) head.writeUInt32LE(MOSTLY_Q8_0, fileType);
  const headBytes = head.length + infos.length;
  const padding = (bytes: number): Uint8Array => new Uint8Array(align(bytes, gguf.alignment) - bytes);
  return Buffer.concat([
    head,
    infos,
    padding(headBytes),
    ...data.flatMap((bytes) => [bytes, padding(bytes.length)]),
  ]);
}

function converted(file: Uint8Array, gguf: Gguf, tensor: GgufTensor): Uint8Array {
  if (!CONVERTIBLE.has(tensor.type))
    throw new RangeError(
      `${tensor.name} has element type ${tensor.type}, which is none of F32, Q4_1 and Q8_0`,
    );
  const start = gguf.dataOffset + tensor.offset;
  const source = file.subarray(start, start + tensorBytes(tensor));
  return tensor.type === Q4_1 ? q4_1ToQ8_0(source) : source;
}

function tensorInfos(gguf: Gguf, data: Uint8Array[]): Buffer[] {
  let offset = 0;
  return gguf.tensors.map((tensor, index) => {
    const name = Buffer.from(tensor.name);
    const info = Buffer.alloc(8 + name.length + 4 + 8 * tensor.shape.length + 4 + 8);
    let at = info.writeBigUInt64LE(BigInt(name.length));
    at += name.copy(info, at);
    at = info.writeUInt32LE(tensor.shape.length, at);
    for (const length of tensor.shape) at = info.writeBigUInt64LE(BigInt(length), at);
    at = info.writeUInt32LE(tensor.type === Q4_1 ? Q8_0 : tensor.type, at);
    info.writeBigUInt64LE(BigInt(offset), at);
    offset = align(offset + (data[index]?.length ?? 0), gguf.alignment);
    return info;
  });
}
