import { type LoadModelParams, Wllama } from '@wllama/wllama';

import { weightBytes, promptStates, SLOTS, halvedLengths, type WllamaVariant } from '#catalog';
import type { GgufFacts } from '#gguf';
import { abortable, printable, withTimeout, serverError, type ServiceError } from '#base';
import {
  chatThreads,
  hasThreads,
  requestAdapter,
  watchWasm,
  isLackOfMemory,
  isOutOfMemory,
  loadFitting,
  type Engine,
  type EngineContext,
  type LoadEngine,
} from '#engine-kit';
import { PromptRenderer } from '#chat-template';
import { chatFacts } from './chat-facts.ts';
import { NumberCheck } from './number-check.ts';
import { noCache } from './no-cache.ts';
import { ReadAheadBlob } from './read-ahead-blob.ts';
import { specialTokens } from './special-tokens.ts';
import { chooseBuild } from './wasm-build.ts';
import { NativeLog, serverCalls } from './internals/server-calls.ts';
import { kernelsOf, mediaMarkerOf, type StateLimits, useWorkerFile } from './internals/worker-proxy.ts';
import { WllamaEngine } from './wllama-engine.ts';

/** Number of prompt tokens per step on the CPU. An abort, and the other slots, wait until the step ends. */
const CPU_BATCH = 16;
const GPU_BATCH = 512;
const batchOf = (gpu: boolean): number => (gpu ? GPU_BATCH : CPU_BATCH);

/** Maximum length of a tensor's name in an error. */
const MAX_NAME = 100;

/** Time limit for shutting down after a failed load, in milliseconds. */
const EXIT_MS = 2000;

export const loadWllama: LoadEngine<WllamaVariant, 'chat' | 'embedding'> = async (variant, context) => {
  const gpuCheck = hasGpu();
  const blobs = await Promise.all(variant.files.map(({ path }) => context.file(path)));
  await checkGguf(variant, blobs);
  // Embeddings run on the CPU: vectors must be equal on every device, and some GPUs
  // compute wrong ones without an error.
  const gpu = (await gpuCheck) && variant.dimensions === undefined;
  const totalBytes = weightBytes({ files: variant.files });
  context.onProgress({ phase: 'load', loadedBytes: totalBytes, totalBytes });
  const language = languageOf(variant, blobs) ?? new Blob();
  const facts = variant.dimensions === undefined ? await chatFacts(variant.name, language) : null;

  return loadFitting(
    halvedLengths(variant.contextLength),
    (contextLength) => loadOnce({ ...variant, contextLength }, context, blobs, gpu, facts),
    (error) => isLackOfMemory(error) || error instanceof NotLoaded,
  );
};

async function loadOnce(
  variant: WllamaVariant,
  context: EngineContext,
  blobs: Blob[],
  gpu: boolean,
  facts: GgufFacts | null,
): Promise<Engine<'chat'> | Engine<'embedding'>> {
  const log = new NativeLog();
  const threads = hasThreads() ? chatThreads() : 1;
  const parameters =
    variant.dimensions === undefined
      ? chatParameters(variant, gpu, facts?.kvInBlocks ?? true, threads)
      : embeddingParameters(variant, threads);
  const limits = facts ? stateLimits(facts, variant.contextLength, gpu) : undefined;
  const wllama = await start(variant, context, blobs, { parameters, limits }, log);
  const backend = gpu ? 'webgpu' : `wasm-${wllama.getNumThreads()}t`;
  const kernels = kernelsOf(wllama);
  const engine = kernels ? `wllama-k${kernels}` : 'wllama';
  const fingerprint = `${variant.name}-${engine}-${backend}`;
  const { dimensions, minDimensions, prefixes, contextLength } = variant;
  if (dimensions !== undefined) {
    const { LlamaEmbedder } = await import('./llama-embedder.ts');
    const training = { ...(prefixes && { prefixes }), ...(minDimensions !== undefined && { minDimensions }) };
    const options = { fingerprint, dimensions, contextLength, ...training };
    const { reserved } = await specialTokens(languageOf(variant, blobs) ?? new Blob(), -1, -1);
    return new LlamaEmbedder(wllama, serverCalls(wllama, log), { ...options, reserved });
  }
  const language = languageOf(variant, blobs);
  const imageMarker = mediaMarkerOf(wllama);
  const prompt = await chatPrompt(wllama, language, facts, imageMarker);
  return new WllamaEngine(wllama, serverCalls(wllama, log), prompt, {
    fingerprint,
    slots: SLOTS,
    batch: batchOf(gpu),
    sampling: variant.sampling ?? {},
    imageMarker,
  });
}

const languageOf = ({ files }: WllamaVariant, blobs: readonly Blob[]): Blob | undefined =>
  blobs[files.findIndex(({ role }) => role === undefined)];

/** Factor on the CPU's cache size (Q8_0): on the GPU the cache has half floats. */
const GPU_SHARE = 2;

/** Limits for saved prompt states; undefined if states are only keys and values, which are limited in tokens. */
function stateLimits(
  { kvValues, kvWindow, stateBytes }: GgufFacts,
  contextLength: number,
  gpu: boolean,
): StateLimits | undefined {
  const share = gpu ? GPU_SHARE : 1;
  const states = promptStates({
    contextLength,
    kvValues: kvValues * share,
    ...(kvWindow && { kvWindow: { ...kvWindow, values: kvWindow.values * share } }),
    stateBytes,
  });
  return states.checkpointBytes > 0 ? states : undefined;
}

/** llama.cpp rejected the file or lacked memory for the context; it does not report which. */
class NotLoaded extends Error {}

/** Error for a file that no context length makes loadable. */
const unusableFile = (variant: string, reason: string): ServiceError =>
  serverError(
    'model_load_failed',
    `The model ${variant} could not be loaded. llama.cpp says of its file: ${reason}. Use a file that this version of llama.cpp can read.`,
  );

const brokenNumbers = (variant: string, tensor: string): ServiceError =>
  serverError(
    'model_load_failed',
    `The model ${variant} could not be loaded: its tensor ${printable(tensor, MAX_NAME)} has a number that is infinite, NaN or far too large. The file was damaged before it was published. Use another file.`,
  );

/** Checks that files are GGUF, also when their hash matches: the catalog may name another kind of file. */
async function checkGguf({ files }: WllamaVariant, blobs: Blob[]): Promise<void> {
  for (const [index, blob] of blobs.entries()) {
    if ((await blob.slice(0, 4).text()) === 'GGUF') continue;
    const message = `The file ${files[index]?.path ?? ''} is not a GGUF. Correct the catalog, or put the right file in place.`;
    throw serverError('weights_corrupt', message);
  }
}

async function start(
  variant: WllamaVariant,
  context: EngineContext,
  blobs: Blob[],
  { parameters, limits }: { parameters: LoadModelParams; limits: StateLimits | undefined },
  log: NativeLog,
): Promise<Wllama> {
  const { wasm, compat } = await chooseBuild(context);
  const wllama = new Wllama(
    { default: wasm },
    { cacheManager: noCache(), logger: log, suppressNativeLog: false },
  );
  // If unset, wllama fetches its compatibility build from a CDN.
  wllama.setCompat(compat);
  useWorkerFile(wllama, context.wasm, limits);
  const loadEnded = new AbortController();
  try {
    const checks = await Promise.all(blobs.map((blob) => NumberCheck.of(blob)));
    const buffered = blobs.map(
      (blob, index) => new ReadAheadBlob(blob, (at, bytes) => checks[index]?.check(at, bytes)),
    );
    const loaded = wllama.loadModel(buffered, parameters);
    const watch = watchWasm(wasm, AbortSignal.any([context.signal, loadEnded.signal]));
    await abortable(Promise.race([loaded, watch.then(() => loaded)]), context.signal);
    // wllama holds the blobs for its lifetime.
    for (const blob of buffered) blob.forget();
    const broken = checks.find((check) => check.broken !== null)?.broken;
    if (broken != null) throw brokenNumbers(variant.name, broken);
    // `loadModel()` also resolves if llama.cpp rejected the file or lacked memory for the context.
    if (!(wllama.getLoadedContextInfo().n_vocab > 0)) throw new NotLoaded('llama.cpp loaded no model');
    return wllama;
  } catch (error) {
    // A worker that has not started never answers `exit()`.
    await withTimeout(wllama.exit(), EXIT_MS);
    const { loadError } = log;
    throw loadError === null || isOutOfMemory(loadError) ? error : unusableFile(variant.name, loadError);
  } finally {
    loadEnded.abort();
  }
}

async function chatPrompt(
  wllama: Wllama,
  gguf: Blob | undefined,
  facts: GgufFacts | null,
  imageMarker: string | null,
): Promise<PromptRenderer> {
  const tokens = gguf
    ? await specialTokens(gguf, wllama.getBOS(), wllama.getEOS())
    : { bos: null, eos: null, reserved: [] };
  return new PromptRenderer({
    source: wllama.getChatTemplate() || (facts?.chatTemplate ?? null),
    tokens: { ...tokens, reserved: [...tokens.reserved, ...(imageMarker === null ? [] : [imageMarker])] },
    addsBos: wllama.mustAddBosToken(),
  });
}

/** Parameters for embeddings. The batch is as long as the context, as llama.cpp embeds a text in one step. */
const embeddingParameters = (
  { contextLength, pooling }: WllamaVariant,
  threads: number,
): LoadModelParams => ({
  embeddings: true,
  n_ctx: contextLength,
  n_batch: contextLength,
  n_ubatch: contextLength,
  n_threads: threads,
  n_gpu_layers: 0,
  n_parallel: 1,
  ...(pooling && { pooling_type: pooling === 'last_token' ? 'last' : pooling }),
  warmup: false,
});

function chatParameters(
  variant: WllamaVariant,
  gpu: boolean,
  kvInBlocks: boolean,
  threads: number,
): LoadModelParams {
  return {
    n_ctx: variant.contextLength,
    n_threads: threads,
    n_gpu_layers: gpu ? 99_999 : 0,
    n_parallel: SLOTS,
    kv_unified: true,
    // `SlotStates` copies states if they are worth it; this option would move every slot's state out each time.
    cache_idle_slots: false,
    n_batch: batchOf(gpu),
    n_ubatch: batchOf(gpu),
    ...(!gpu && (kvInBlocks ? CACHE_IN_BLOCKS : CACHE_IN_FLOATS)),
    warmup: false,
  };
}

/** KV cache in 8-bit blocks: half the size of half floats, for which WASM has no instructions. */
const CACHE_IN_BLOCKS = { flash_attn: true, cache_type_k: 'q8_0', cache_type_v: 'q8_0' } as const;
/** KV cache in floats, if the length of a head is not a multiple of a block. */
const CACHE_IN_FLOATS = { flash_attn: false, cache_type_k: 'f32', cache_type_v: 'f32' } as const;

/**
 * Whether there is a hardware GPU with half floats, which llama.cpp's kernels require.
 * Without them llama.cpp uses the CPU.
 */
const hasGpu = (): Promise<boolean> =>
  requestAdapter(navigator.gpu).then(
    (adapter) => adapter !== null && !adapter.info.isFallbackAdapter && adapter.features.has('shader-f16'),
    () => false,
  );
