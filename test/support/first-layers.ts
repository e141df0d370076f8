import { readFile } from 'node:fs/promises';

import { ByteCursor } from '../../src/gguf/byte-cursor.ts';
import { align, readGguf, tensorBytes, type GgufTensor } from '../../src/gguf/read-gguf.ts';

/** Position of the number of tensors in a file. */
const COUNT_AT = 8;
/** Position of the number of metadata entries. */
const ENTRIES_AT = 16;
/** GGUF's number for the type of a value. */
const U32 = 4;
const LAYER = /^blk\.(\d+)\./;

/**
 * The GGUF of a Llama with its first layers alone: it loads and answers sooner, and what it says makes no sense. `pooling`:
 * llama.cpp's number for one, which makes it an embedding model.
 */
export async function firstLayers(path: string, layers: number, pooling?: number): Promise<Buffer> {
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
  const more: Buffer[] = [];
  if (pooling !== undefined) {
    head.writeBigUInt64LE(head.readBigUInt64LE(ENTRIES_AT) + 1n, ENTRIES_AT);
    const key = 'llama.pooling_type';
    more.push(u64(key.length), Buffer.from(key), u32(U32), u32(pooling));
  }
  const header = Buffer.concat([head, ...more, ...infos]);
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
