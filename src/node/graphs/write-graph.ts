import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { readHeader, readSafetensors, type SafetensorsTensor } from '#gguf';
import type { OutlierChannels, Matrix } from './operators.ts';
import { type BertConfig, bertGraph, bertInt8Graph } from './bert-graph.ts';

/** Positions of the tensors in a safetensors file. @throws FormatError */
export async function tensorsOfFile(path: string): Promise<Map<string, SafetensorsTensor>> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const read = async (length: number): Promise<Uint8Array> => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(length, size)), 0, null, 0);
      return buffer.subarray(0, bytesRead);
    };
    return await readHeader({ size, read }, readSafetensors);
  } finally {
    await file.close();
  }
}

/** The float32 tensors of a safetensors file by name, of one axis (one row) or two. */
async function matricesOfFile(path: string): Promise<(name: string) => Matrix> {
  const tensors = await tensorsOfFile(path);
  const { buffer, byteOffset } = await readFile(path);
  return (name) => {
    const tensor = tensors.get(name);
    if (tensor === undefined) throw new Error(`the weights have no tensor ${name}`);
    const { shape, offset, length } = tensor;
    const columns = shape.at(-1) ?? 1;
    // A copy: a header of any length may end at an address that is no multiple of 4.
    const data = new Float32Array(buffer.slice(byteOffset + offset, byteOffset + offset + length));
    return { data, rows: data.length / columns, columns };
  };
}

const WEIGHTS = 'model.safetensors';

/** The ONNX graph for the BERT model in a folder with `config.json` and `model.safetensors`. */
export async function graphForFolder(folder: string): Promise<Uint8Array> {
  const tensors = await tensorsOfFile(join(folder, WEIGHTS));
  return bertGraph(await readConfig(folder), tensors, 'model.onnx_data');
}

/** The same graph with embedded 8-bit weights. */
export async function int8GraphForFolder(folder: string, outliers: OutlierChannels): Promise<Uint8Array> {
  return bertInt8Graph(await readConfig(folder), await matricesOfFile(join(folder, WEIGHTS)), outliers);
}

async function readConfig(folder: string): Promise<BertConfig> {
  return JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as BertConfig;
}
