import { ByteCursor } from '../../src/gguf/byte-cursor.ts';
import { align, type GgufTensor, readGguf, tensorBytes } from '../../src/gguf/read-gguf.ts';

/** A tensor's data in another element type. */
export interface Converted {
  /** ggml's number for the element type. */
  type: number;
  bytes: Uint8Array;
}

/**
 * The same GGUF with other data in some of its tensors. Names of tensors must be in ASCII.
 * @param fileType llama.cpp's number for what most tensors are then
 * @param convert the tensor's new data; null: it stays
 */
export function rewriteTensors(
  file: Uint8Array<ArrayBuffer>,
  fileType: number,
  convert: (tensor: GgufTensor, bytes: Uint8Array) => Converted | null,
): Uint8Array<ArrayBuffer> {
  const gguf = readGguf(new ByteCursor(file, file.length));
  const head = file.slice(0, gguf.dataOffset);
  const view = new DataView(head.buffer);
  const fileTypeAt = gguf.metadata.get('general.file_type')?.at;
  if (fileTypeAt !== undefined) view.setUint32(fileTypeAt, fileType, true);
  const placed: { bytes: Uint8Array; offset: number }[] = [];
  let info = gguf.tensorsAt;
  let offset = 0;
  for (const tensor of gguf.tensors) {
    const bytes = file.subarray(gguf.dataOffset + tensor.offset).subarray(0, tensorBytes(tensor));
    const converted = convert(tensor, bytes) ?? { type: tensor.type, bytes };
    // Name, number of dimensions, dimensions; then what changes: type and offset.
    info += 8 + tensor.name.length + 4 + 8 * tensor.shape.length;
    view.setUint32(info, converted.type, true);
    view.setBigUint64(info + 4, BigInt(offset), true);
    info += 12;
    placed.push({ bytes: converted.bytes, offset: gguf.dataOffset + offset });
    offset += align(converted.bytes.length, gguf.alignment);
  }
  const made = new Uint8Array(gguf.dataOffset + offset);
  made.set(head);
  for (const { bytes, offset: at } of placed) made.set(bytes, at);
  return made;
}
