import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { bertGraph, bertInt8Graph, type BertConfig } from './bert-graph.ts';
import type { FarDimensions } from './int8-operators.ts';
import { matricesOfFile, tensorsOfFile } from './safetensors.ts';

const WEIGHTS = 'model.safetensors';

/** The ONNX graph for the BERT model in a folder with `config.json` and `model.safetensors`. */
export async function graphForFolder(folder: string): Promise<Uint8Array> {
  const tensors = await tensorsOfFile(join(folder, WEIGHTS));
  return bertGraph(await readConfig(folder), tensors, 'model.onnx_data');
}

/** The same with its weights in it, in 8 bits. */
export async function int8GraphForFolder(folder: string, far: FarDimensions): Promise<Uint8Array> {
  return bertInt8Graph(await readConfig(folder), await matricesOfFile(join(folder, WEIGHTS)), far);
}

async function readConfig(folder: string): Promise<BertConfig> {
  return JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as BertConfig;
}
