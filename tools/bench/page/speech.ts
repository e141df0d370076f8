import { type AutomaticSpeechRecognitionPipeline, env, pipeline } from '@huggingface/transformers';

import type { Catalog } from '../../../src/catalog/catalog.ts';
import { fingerprintOf, withCatalog } from './engines.ts';
import { elapsed } from './once.ts';
import { useWasm } from './raw-embedding.ts';

/** Location of the weights, `<url>/whisper`, and the sound. */
export interface SpeechFiles {
  catalog: Catalog;
  url: string;
  clip: string;
}

export const SPEECH_MODEL = 'coral-wren-4';
/** Window of the raw pipeline, as long as ours. */
const WINDOW_SECONDS = 30;

const load = async ({ url, clip }: SpeechFiles): Promise<File> =>
  new File([await (await fetch(`${url}/clips/${clip}`)).blob()], clip);

/** Milliseconds of one file, the model loaded, and on what it ran. */
export async function speechOurs(files: SpeechFiles): Promise<{ ms: number; fingerprint: string }> {
  const { handle, client } = await withCatalog(files.catalog);
  await handle.ready(SPEECH_MODEL);
  const file = await load(files);
  const ms = await elapsed(() =>
    client.audio.transcriptions.create({ file, model: SPEECH_MODEL, response_format: 'verbose_json' }),
  );
  return { ms, fingerprint: await fingerprintOf(handle, SPEECH_MODEL) };
}

let raw: Promise<AutomaticSpeechRecognitionPipeline> | null = null;

/** The same by transformers.js' pipeline, as a page without localtext would run it. */
export async function speechRaw(files: SpeechFiles, threads: number): Promise<number> {
  const transcriber = await (raw ??= loadRaw(files.url, threads));
  const file = await load(files);
  return elapsed(async () => {
    const context = new OfflineAudioContext(1, 1, 16_000);
    const sound = (await context.decodeAudioData(await file.arrayBuffer())).getChannelData(0);
    await transcriber(sound, { chunk_length_s: WINDOW_SECONDS, return_timestamps: true });
  });
}

function loadRaw(url: string, threads: number): Promise<AutomaticSpeechRecognitionPipeline> {
  Object.assign(env, {
    allowLocalModels: false,
    remoteHost: `${url}/`,
    remotePathTemplate: '{model}/',
    useBrowserCache: false,
  });
  useWasm(threads);
  return pipeline('automatic-speech-recognition', 'whisper', { dtype: 'q8', device: 'wasm' });
}
