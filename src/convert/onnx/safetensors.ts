import { open, readFile, type FileHandle } from 'node:fs/promises';

import type { ExternalTensor } from './graph-builder.ts';
import type { Matrix } from './quantize.ts';

/** A header longer than this is no header of ours: the format's own limit is 100 MB. */
const MAX_HEADER_BYTES = 1_000_000;

/**
 * The tensors of a safetensors file by name, with offsets from the file's start. The format: the header's length as
 * 8 bytes, little-endian; the header as JSON; the tensors' bytes.
 */
export async function readSafetensorsHeader(path: string): Promise<Map<string, ExternalTensor>> {
  const file = await open(path);
  try {
    const length = Number((await read(file, 0, 8)).readBigUInt64LE());
    if (length > MAX_HEADER_BYTES) throw new Error(`${path} is no safetensors file`);
    const entries = JSON.parse((await read(file, 8, length)).toString('utf8')) as Record<string, TensorEntry>;
    return new Map(
      Object.entries(entries)
        .filter(([name]) => name !== '__metadata__')
        .map(
          ([
            name,
            {
              shape,
              data_offsets: [begin, end],
            },
          ]) => [name, { name, shape, offset: 8 + length + begin, length: end - begin }],
        ),
    );
  } finally {
    await file.close();
  }
}

/** The float32 tensors of a safetensors file by name, of one axis (one row) or two. */
export async function readSafetensors(path: string): Promise<(name: string) => Matrix> {
  const tensors = await readSafetensorsHeader(path);
  const { buffer, byteOffset } = await readFile(path);
  return (name) => {
    const tensor = tensors.get(name);
    if (tensor === undefined) throw new Error(`the weights have no tensor ${name}`);
    const { shape, offset, length } = tensor;
    const columns = shape.at(-1) ?? 1;
    // A copy, as what follows a header of any length need not lie at a multiple of 4.
    const data = new Float32Array(buffer.slice(byteOffset + offset, byteOffset + offset + length));
    return { data, rows: data.length / columns, columns };
  };
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw new Error('the safetensors file ends within its header');
  return buffer;
}

interface TensorEntry {
  shape: number[];
  data_offsets: [begin: number, end: number];
}
