import { type AutomaticSpeechRecognitionPipeline, env, pipeline } from '@huggingface/transformers';

import type { Catalog } from '../../../src/catalog/catalog.ts';
import { withCatalog } from './engines.ts';
import { engineFileName } from '../../../src/engine-kit/engine-file.ts';

/** Location of the weights, `<url>/whisper`, and the sound. */
export interface SpeechFiles {
  catalog: Catalog;
  url: string;
  clip: string;
}

export const SPEECH_MODEL = 'coral-wren-4';
/** Window of the raw pipeline, as long as ours. */
const WINDOW_SECONDS = 30;

let raw: Promise<AutomaticSpeechRecognitionPipeline> | null = null;

const load = async ({ url, clip }: SpeechFiles): Promise<File> =>
  new File([await (await fetch(`${url}/clips/${clip}`)).blob()], clip);

/** Milliseconds of one file, the model loaded, and on what it ran. */
export async function speechOurs(files: SpeechFiles): Promise<{ ms: number; fingerprint: string }> {
  const { handle, client } = await withCatalog(files.catalog);
  await handle.ready(SPEECH_MODEL);
  const file = await load(files);
  const began = performance.now();
  await client.audio.transcriptions.create({
    file,
    model: SPEECH_MODEL,
    response_format: 'verbose_json',
  });
  const ms = performance.now() - began;
  const { models } = await handle.status();
  return { ms, fingerprint: models.find(({ id }) => id === SPEECH_MODEL)?.fingerprint ?? '' };
}

/** The same by transformers.js' pipeline, as a page without localtext would run it. */
export async function speechRaw(files: SpeechFiles, threads: number): Promise<number> {
  raw ??= loadRaw(files.url, threads);
  const transcriber = await raw;
  const file = await load(files);
  const began = performance.now();
  const context = new OfflineAudioContext(1, 1, 16_000);
  const sound = (await context.decodeAudioData(await file.arrayBuffer())).getChannelData(0);
  await transcriber(sound, { chunk_length_s: WINDOW_SECONDS, return_timestamps: true });
  return performance.now() - began;
}

async function loadRaw(url: string, threads: number): Promise<AutomaticSpeechRecognitionPipeline> {
  Object.assign(env, {
    allowLocalModels: false,
    remoteHost: `${url}/`,
    remotePathTemplate: '{model}/',
    useBrowserCache: false,
  });
  const build = (ending: string) =>
    `/localtext/wasm/${engineFileName(`ort-wasm-simd-threaded.asyncify.${ending}`)}`;
  Object.assign(env.backends.onnx.wasm ?? {}, {
    wasmPaths: { mjs: build('js'), wasm: build('wasm') },
    numThreads: threads,
  });
  return pipeline('automatic-speech-recognition', 'whisper', { dtype: 'q8', device: 'wasm' });
}
