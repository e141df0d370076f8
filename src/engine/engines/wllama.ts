import { CacheManager, Wllama, type LoadModelParams } from '@wllama/wllama';

import type { WllamaVariant } from '../../catalog/catalog.ts';
import { abortable } from '../abort.ts';
import type { ChatEngine, LoadEngine } from '../engine.ts';
import { realAdapter } from '../gpu.ts';
import { ChatPrompt } from './wllama/chat-prompt.ts';
import { specialTokens } from './wllama/special-tokens.ts';
import { WllamaEngine } from './wllama/wllama-engine.ts';

/** As many as llama.cpp decodes in one batch; more wait in the scheduler. */
const SLOTS = 4;

/**
 * Tokens of a prompt computed in one step, on the CPU: an abort, and other slots, wait for one step to end.
 */
const CPU_BATCH = 32;
const GPU_BATCH = 512;

export const loadWllama: LoadEngine<WllamaVariant, ChatEngine> = async (variant, context) => {
  const blobs = await Promise.all(variant.files.map(({ path }) => context.file(path)));
  const gpu = await hasGpu();
  const threads = threadCount();
  const totalBytes = variant.files.reduce((sum, { bytes }) => sum + bytes, 0);
  context.onProgress(totalBytes, totalBytes);

  const wllama = new Wllama(
    { default: context.wasm('wllama.wasm') },
    { cacheManager: noCache(), logger: quietLogger, suppressNativeLog: true },
  );
  // Its compatibility build would come from a CDN.
  wllama.setCompat(null);
  try {
    await abortable(wllama.loadModel(blobs, loadParameters(variant, gpu, threads)), context.signal);
  } catch (error) {
    await wllama.exit();
    throw error;
  }
  const backend = gpu ? 'webgpu' : `wasm-${wllama.getNumThreads()}t`;
  return new WllamaEngine(
    wllama,
    await chatPrompt(wllama, blobs[0]),
    `${variant.name}-wllama-${backend}`,
    SLOTS,
  );
};

async function chatPrompt(wllama: Wllama, gguf: Blob | undefined): Promise<ChatPrompt> {
  const tokens = gguf
    ? await specialTokens(gguf, wllama.getBOS(), wllama.getEOS())
    : { bos: null, eos: null };
  return new ChatPrompt(wllama.getChatTemplate(), tokens, wllama.mustAddBosToken());
}

function loadParameters(variant: WllamaVariant, gpu: boolean, threads: number): LoadModelParams {
  return {
    n_ctx: variant.contextLength,
    n_threads: threads,
    n_gpu_layers: gpu ? 99_999 : 0,
    n_parallel: SLOTS,
    kv_unified: true,
    n_batch: gpu ? GPU_BATCH : CPU_BATCH,
    n_ubatch: gpu ? GPU_BATCH : CPU_BATCH,
    // Half the bytes of half floats, which WASM has no instructions for.
    ...(!gpu && { cache_type_k: 'q8_0', cache_type_v: 'q8_0', flash_attn: true }),
    warmup: false,
  };
}

/**
 * Half of the logical processors: about the real cores, and one left for the page. llama.cpp's threads wait for each
 * other by spinning, some hundred times a token: with one of them off its core, all stand still.
 */
function threadCount(): number {
  return crossOriginIsolated ? Math.max(1, Math.floor(navigator.hardwareConcurrency / 2)) : 1;
}

/** Its kernels want half floats; without them it would only try, and come back to the CPU. */
async function hasGpu(): Promise<boolean> {
  const adapter = await realAdapter();
  return adapter?.features.has('shader-f16') ?? false;
}

/** The weight store is the only one; wllama's own finds no storage in some browsers and would not start. */
function noCache(): CacheManager {
  return new CacheManager([
    {
      isSupported: () => true,
      read: async () => null,
      write: async () => undefined,
      getSize: async () => -1,
      list: async () => [],
      delete: async () => undefined,
    },
  ]);
}

/** A refused request is told to its client, not to the console. */
const quietLogger = {
  debug: () => undefined,
  log: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
