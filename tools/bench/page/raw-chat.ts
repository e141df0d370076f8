import { type LoadModelParams, Wllama } from '@wllama/wllama';

import { type StateLimits, useWorkerFile } from '../../../src/llama/internals/worker-proxy.ts';
import { once } from './once.ts';
import { engineFileName } from '../../../src/engine-kit/engine-file.ts';

/**
 * `ours`: as src/engines/wllama/load-wllama.ts loads it on the CPU. `large-batches`: the same, in its own batches.
 * `package`: as `ours`, in the package's own WASM.
 */
export type RawSettings = 'ours' | 'large-batches' | 'package';

function parameters(settings: RawSettings, threads: number): LoadModelParams {
  return {
    n_ctx: 8192,
    n_threads: threads,
    n_gpu_layers: 0,
    n_parallel: 4,
    kv_unified: true,
    cache_idle_slots: false,
    cache_type_k: 'q8_0',
    cache_type_v: 'q8_0',
    flash_attn: true,
    warmup: false,
    ...(settings !== 'large-batches' && { n_batch: 32, n_ubatch: 32 }),
  };
}

export const rawWeights = once(async (): Promise<Blob> =>
  (await fetch('/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf')).blob(),
);

const ignore = (): undefined => undefined;
/** `suppressNativeLog` would make llama.cpp write messages of all levels, which takes time. */
export const SILENT = { debug: ignore, log: ignore, warn: ignore, error: ignore };

interface RawOptions {
  logger?: NonNullable<ConstructorParameters<typeof Wllama>[1]>['logger'];
  limits?: StateLimits | undefined;
}

/** @param fileUrl of the library's own worker, in place of the package's */
export async function loadRawChat(
  settings: RawSettings,
  threads: number,
  fileUrl?: (name: string) => string,
  { logger = SILENT, limits }: RawOptions = {},
): Promise<Wllama> {
  const wasm = 'wllama.wasm';
  const url = settings === 'package' ? `/package/${wasm}` : `/localtext/wasm/${engineFileName(wasm)}`;
  const wllama = new Wllama({ default: url }, { logger });
  if (fileUrl) useWorkerFile(wllama, fileUrl, limits);
  await wllama.loadModel([await rawWeights()], parameters(settings, threads));
  return wllama;
}

let loaded: { settings: RawSettings; wllama: Wllama } | null = null;

/** wllama as a user without localtext would run it; one at a time is in memory. */
export async function rawChat(settings: RawSettings, threads: number): Promise<Wllama> {
  if (loaded?.settings === settings) return loaded.wllama;
  await endRawChat();
  loaded = { settings, wllama: await loadRawChat(settings, threads) };
  return loaded.wllama;
}

export async function endRawChat(): Promise<void> {
  const before = loaded;
  loaded = null;
  await before?.wllama.exit();
}
