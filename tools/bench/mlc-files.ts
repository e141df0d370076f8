import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Catalog, WeightFile } from '../../src/catalog/catalog.ts';
import { download } from '../../src/node/cli/pull/pull-hub.ts';
import { hashFile } from '../../src/node/cli/pull/hash-file.ts';
import { MLC_FOLDER, type MlcUrls, mlcVariant } from '../../test/support/mlc-model.ts';

const CACHE = 'dist/bench/mlc';
/** web-llm requires this in a model's URL. */
const BRANCH = 'resolve/main';
const LIBRARY = 'model-library.wasm';
const SMALL_FILE_MS = 120_000;

/** A model's files, downloaded once: both engines then get the same bytes, from a server that both may ask. */
export interface MlcFiles {
  /** Folder to serve: the model is in `resolve/main/`. */
  folder: string;
  /** The model's attention slides over its context, whose length is then its own. */
  slidingWindow: boolean;
  catalog(serverUrl: string): Catalog;
  /** URLs for web-llm itself. */
  urls(serverUrl: string): MlcUrls;
}

export async function bringMlcFiles(given: MlcUrls): Promise<MlcFiles> {
  const key = createHash('sha256').update(`${given.model} ${given.library}`).digest('hex').slice(0, 12);
  const folder = join(CACHE, key);
  const inFolder = (name: string): string => join(folder, BRANCH, name);
  await mkdir(inFolder('.'), { recursive: true });
  const signal = new AbortController().signal;
  const names: string[] = [];
  const save = async (name: string, bytes: number | null, url = new URL(name, given.model).href) => {
    if (!/^[\w.-]+$/.test(name))
      throw new Error(`${given.model} lists a file called ${name}: not a plain name`);
    names.push(name);
    const target = inFolder(name);
    if (await stat(target).catch(() => null)) return target;
    const part = `${target}.part`;
    if (bytes === null) await writeFile(part, await fetchSmall(url));
    else await download({ url, part, totalBytes: bytes, signal });
    await rename(part, target);
    return target;
  };

  const config = await readJson<ChatConfig>(await save('mlc-chat-config.json', null));
  const { records } = await readJson<TensorCache>(await save('tensor-cache.json', null));
  const { tokenizer_files: tokenizers } = config;
  await save(tokenizers.includes('tokenizer.json') ? 'tokenizer.json' : 'tokenizer.model', null);
  await save(LIBRARY, null, given.library);
  for (const { dataPath, nbytes } of records) await save(dataPath, nbytes);

  const files = await Promise.all(names.map(async (name) => describe(name, inFolder(name), signal)));
  const base = (serverUrl: string): string => `${serverUrl}/${BRANCH}/`;
  return {
    folder,
    slidingWindow: (config.sliding_window_size ?? -1) > 0,
    catalog(serverUrl) {
      const placed = files.map(({ name, ...file }) => ({ ...file, url: base(serverUrl) + name }));
      const variant = mlcVariant({ library: `${MLC_FOLDER}/${LIBRARY}`, files: placed });
      const variants = [{ ...variant, needs: { webgpu: true } }];
      return { ownedBy: 'bench', models: [{ id: 'mlc-model', kind: 'chat', created: 0, variants }] };
    },
    urls: (serverUrl) => ({ model: base(serverUrl), library: base(serverUrl) + LIBRARY }),
  };
}

/** What the bench reads of them; web-llm and our adapter check them. */
interface ChatConfig {
  tokenizer_files: string[];
  sliding_window_size?: number;
}
interface TensorCache {
  records: { dataPath: string; nbytes: number }[];
}

const readJson = async <T>(path: string): Promise<T> => JSON.parse(await readFile(path, 'utf8')) as T;

async function fetchSmall(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(SMALL_FILE_MS) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

async function describe(
  name: string,
  path: string,
  signal: AbortSignal,
): Promise<WeightFile & { name: string }> {
  const { size } = await stat(path);
  return { name, path: `${MLC_FOLDER}/${name}`, bytes: size, sha256: await hashFile(path, signal) };
}
