import { createHash } from 'node:crypto';

import type { Catalog, WeightFile } from '../../src/catalog/catalog.ts';
import { MLC_FOLDER, type MlcUrls, mlcVariant } from '../../test/support/mlc-model.ts';

const CONFIG = 'mlc-chat-config.json';
const TENSORS = 'tensor-cache.json';
const LIBRARY = 'model-library.wasm';

/** What the bench reads of the files; web-llm and our adapter check them. */
interface ChatConfig {
  tokenizer_files: string[];
  sliding_window_size?: number;
}
interface TensorCache {
  records: { dataPath: string }[];
}

export interface MlcModel {
  catalog: Catalog;
  /** The model's attention slides over its context, whose length is then its own. */
  slidingWindow: boolean;
}

/** Reads all files of a model once, for the sizes and hashes that a catalog has. */
export async function readMlcModel({ model, library }: MlcUrls): Promise<MlcModel> {
  const at = (name: string): string => new URL(name, model).href;
  const config = (await (await fetchOk(at(CONFIG))).json()) as ChatConfig;
  const { records } = (await (await fetchOk(at(TENSORS))).json()) as TensorCache;
  const tokenizer = config.tokenizer_files.includes('tokenizer.json') ? 'tokenizer.json' : 'tokenizer.model';
  const files = [await describe(LIBRARY, library)];
  for (const name of [CONFIG, TENSORS, tokenizer, ...records.map(({ dataPath }) => dataPath)])
    files.push(await describe(name, at(name)));
  const variant = { ...mlcVariant({ library: `${MLC_FOLDER}/${LIBRARY}`, files }), needs: { webgpu: true } };
  return {
    catalog: {
      ownedBy: 'bench',
      models: [{ id: 'mlc-model', kind: 'chat', created: 0, variants: [variant] }],
    },
    slidingWindow: (config.sliding_window_size ?? -1) > 0,
  };
}

async function describe(name: string, url: string): Promise<WeightFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const part of (await fetchOk(url)).body ?? []) {
    hash.update(part);
    bytes += part.length;
  }
  return { path: `${MLC_FOLDER}/${name}`, bytes, sha256: hash.digest('hex'), url };
}

async function fetchOk(url: string): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response;
}
