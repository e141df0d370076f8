import { Wllama } from '@wllama/wllama';

import type { Catalog } from '../../../src/catalog/catalog.ts';
import { type Localtext, start } from '../../../src/index.ts';
import type OpenAI from 'openai';

import { clientOf, timed } from './engines.ts';
import { engineFileName } from '../../../src/engine-kit/engine-file.ts';

/** Location of the weights, `<url>/vision`, and the model's id. */
export interface VisionFiles {
  catalog: Catalog;
  url: string;
  model: string;
}

/** Both hand the first token out when the second is computed. */
const TOKENS = 2;

let ours: Promise<{ handle: Localtext; client: OpenAI }> | null = null;
let raw: Promise<Wllama> | null = null;

/** Fingerprint of the loaded vision model. */
export async function visionFingerprint({ catalog, model }: VisionFiles): Promise<string> {
  ours ??= (async () => {
    const handle = await start({ catalog });
    return { handle, client: await clientOf(handle) };
  })();
  const { handle } = await ours;
  await handle.ready(model);
  const { models } = await handle.status();
  return models.find(({ id }) => id === model)?.fingerprint ?? '';
}

/** Milliseconds to the first token. */
export async function pictureOurs({ model }: VisionFiles, url: string, text: string): Promise<number> {
  const { client } = (await ours) ?? {};
  const { firstTokenMs } = await timed(async (onDelta) => {
    const stream = await client?.chat.completions.create({
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url } },
            { type: 'text', text },
          ],
        },
      ],
      max_tokens: TOKENS,
      temperature: 0,
      stream: true,
    });
    for await (const chunk of stream ?? []) onDelta(chunk.choices[0]?.delta.content ?? '');
    return TOKENS;
  });
  return firstTokenMs;
}

/** The same by wllama, as a page without localtext would run it, with the settings that we load it with. */
export async function pictureRaw(
  { url: site }: VisionFiles,
  threads: number,
  url: string,
  text: string,
): Promise<number> {
  raw ??= load(site, threads);
  const wllama = await raw;
  const data = Uint8Array.from(atob(url.split(',')[1] ?? ''), (each) => each.charCodeAt(0)).buffer;
  const { firstTokenMs } = await timed(async (onDelta) => {
    await wllama.createChatCompletion({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', data },
            { type: 'text', text },
          ],
        },
      ],
      max_tokens: TOKENS,
      temperature: 0,
      stream: true,
      onData: (chunk) => onDelta(chunk.choices[0]?.delta.content ?? ''),
    });
    return TOKENS;
  });
  return firstTokenMs;
}

async function load(url: string, threads: number): Promise<Wllama> {
  const wllama = new Wllama(
    { default: `/localtext/wasm/${engineFileName('wllama.wasm')}` },
    { suppressNativeLog: true },
  );
  const blob = async (name: string): Promise<Blob> => (await fetch(`${url}/vision/${name}`)).blob();
  await wllama.loadModel([await blob('model.gguf'), await blob('mmproj.gguf')], {
    n_ctx: 2048,
    n_threads: threads,
    n_gpu_layers: 0,
    n_parallel: 4,
    kv_unified: true,
    cache_idle_slots: false,
    cache_type_k: 'q8_0',
    cache_type_v: 'q8_0',
    flash_attn: true,
    warmup: false,
    n_batch: 16,
    n_ubatch: 16,
  });
  return wllama;
}
