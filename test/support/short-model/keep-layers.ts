import { align, readGguf, type GgufTensor } from '../../../src/convert/gguf/gguf-reader.ts';

const F32 = 0;
const Q8_0 = 8;
/** Bytes of 32 weights, by ggml's number for the element type. */
const BLOCK_BYTES: Record<number, number> = { [F32]: 128, [Q8_0]: 34 };

/** The same model with these of its layers alone, in this order: the true tokenizer, template and file format, in less time. */
export function keepLayers(file: Uint8Array, architecture: string, layers: number[]): Uint8Array {
  const gguf = readGguf(file);
  const kept = gguf.tensors.flatMap((tensor) => {
    const [, layer = '', rest = ''] = /^blk\.(\d+)\.(.*)$/.exec(tensor.name) ?? [];
    if (layer === '') return [{ tensor, name: tensor.name }];
    const at = layers.indexOf(Number(layer));
    return at === -1 ? [] : [{ tensor, name: `blk.${at}.${rest}` }];
  });
  const data = kept.map(({ tensor }) => {
    const start = gguf.dataOffset + tensor.offset;
    return file.subarray(start, start + bytesOf(tensor));
  });
  let offset = 0;
  const infos = kept.map(({ tensor, name }, index) => {
    const info = tensorInfo({ ...tensor, name, offset });
    offset = align(offset + (data[index]?.length ?? 0), gguf.alignment);
    return info;
  });
  const preamble = Buffer.from(gguf.preamble);
  preamble.writeBigUInt64LE(BigInt(kept.length), 8);
  preamble.writeUInt32LE(layers.length, gguf.metadata.get(`${architecture}.block_count`));
  const head = Buffer.concat([preamble, ...infos]);
  const padding = (bytes: number): Uint8Array => new Uint8Array(align(bytes, gguf.alignment) - bytes);
  return Buffer.concat([
    head,
    padding(head.length),
    ...data.flatMap((bytes) => [bytes, padding(bytes.length)]),
  ]);
}

function bytesOf({ name, shape, type }: GgufTensor): number {
  const blockBytes = BLOCK_BYTES[type];
  if (blockBytes === undefined) throw new RangeError(`${name} has element type ${type}`);
  return (shape.reduce((product, length) => product * length, 1) / 32) * blockBytes;
}

function tensorInfo({ name, shape, type, offset }: GgufTensor): Buffer {
  const text = Buffer.from(name);
  const info = Buffer.alloc(8 + text.length + 4 + 8 * shape.length + 4 + 8);
  let at = info.writeBigUInt64LE(BigInt(text.length));
  at += text.copy(info, at);
  at = info.writeUInt32LE(shape.length, at);
  for (const length of shape) at = info.writeBigUInt64LE(BigInt(length), at);
  at = info.writeUInt32LE(type, at);
  info.writeBigUInt64LE(BigInt(offset), at);
  return info;
}
