import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { bertGraph, type BertConfig } from './bert-graph.ts';
import { readSafetensorsHeader } from './safetensors.ts';

/** The ONNX graph for the BERT model in a folder with `config.json` and `model.safetensors`. */
export async function graphForFolder(folder: string): Promise<Uint8Array> {
  const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as BertConfig;
  const tensors = await readSafetensorsHeader(join(folder, 'model.safetensors'));
  return bertGraph(config, tensors, 'model.onnx_data');
}
