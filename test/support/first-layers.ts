import { readFile } from 'node:fs/promises';

import { ByteCursor } from '../../src/model-files/gguf/byte-cursor.ts';
import { align, readGguf, tensorBytes, type GgufTensor } from '../../src/model-files/gguf/read-gguf.ts';

/** Where a file has the number of its tensors. */
const COUNT_AT = 8;
const LAYER = /^blk\.(\d+)\./;

/** The GGUF of a Llama with its first layers alone: it loads and answers sooner, and what it says makes no sense. */
export async function firstLayers(path: string, layers: number): Promise<Buffer> {
  const file = await readFile(path);
  const gguf = readGguf(new ByteCursor(file, file.length));
  const count = gguf.metadata.get('llama.block_count');
  if (!count) throw new Error(`${path} does not say how many layers it has.`);
  const head = Buffer.from(file.subarray(0, gguf.tensorsAt));
  const kept = gguf.tensors.filter(({ name }) => Number(LAYER.exec(name)?.[1] ?? 0) < layers);
  head.writeBigUInt64LE(BigInt(kept.length), COUNT_AT);
  head.writeUInt32LE(layers, count.at);

  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const tensor of kept) {
    const start = gguf.dataOffset + tensor.offset;
    const length = align(tensorBytes(tensor), gguf.alignment);
    infos.push(infoOf({ ...tensor, offset }));
    data.push(file.subarray(start, start + length));
    offset += length;
  }
  const header = Buffer.concat([head, ...infos]);
  const padding = Buffer.alloc(align(header.length, gguf.alignment) - header.length);
  return Buffer.concat([header, padding, ...data]);
}

const infoOf = ({ name, shape, type, offset }: GgufTensor): Buffer =>
  Buffer.concat([
    u64(name.length),
    Buffer.from(name),
    u32(shape.length),
    ...shape.map(u64),
    u32(type),
    u64(offset),
  ]);

const u32 = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value: number): Buffer => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
