import { weightBytes, halvedLengths, type FileRole } from '#catalog';
import { isEncoder, promptStates, SLOTS, type WllamaVariant } from './rules.ts';
import type { GgufTraits } from '#gguf';
import { omitNulls } from '#base';
import {
  chatThreads,
  hasThreads,
  requestAdapter,
  isLackOfMemory,
  loadFitting,
  type Engine,
  type EngineContext,
  type LoadEngine,
} from '#engine-kit';
import { type Llama, type LlamaOptions, NotLoaded, openLlama, startAhead, type StateLimits } from '#llama';
import { PromptRenderer, TemplateWorker } from '#chat-template';
import { inspectVariant } from './inspect-variant.ts';
import { specialTokens } from './special-tokens.ts';
import { chooseBuild } from './wasm-build.ts';
import { WllamaEngine } from './wllama-engine.ts';

/** Number of prompt tokens per step on the CPU. An abort, and the other slots, wait until the step ends. */
const CPU_BATCH = 32;
const GPU_BATCH = 512;
const batchOf = (gpu: boolean): number => (gpu ? GPU_BATCH : CPU_BATCH);

export const loadWllama: LoadEngine<WllamaVariant, 'chat' | 'embedding' | 'rerank'> = async (
  variant,
  context,
) => {
  // Embeddings and rerankers run on the CPU: vectors must be equal on every device, and some GPUs
  // compute wrong ones without an error.
  const gpuCheck = isEncoder(variant) ? Promise.resolve(false) : hasGpu();
  const workers: Workers = {
    llama: startWorker(context, gpuCheck),
    template: isEncoder(variant) ? undefined : new TemplateWorker(),
  };
  try {
    return await loadFiles(variant, context, gpuCheck, workers);
  } catch (error) {
    workers.template?.helper.end();
    throw error;
  } finally {
    // One that no attempt has taken. Do not wait: the check of the GPU may never settle.
    void workers.llama.then((worker) => worker?.end());
  }
};

/** Workers that start while the weights are opened or downloaded. */
interface Workers {
  llama: ReturnType<typeof startWorker>;
  template: TemplateWorker | undefined;
}

async function loadFiles(
  variant: WllamaVariant,
  context: EngineContext,
  gpuCheck: Promise<boolean>,
  workers: Workers,
): Promise<WllamaModel> {
  const given = await Promise.all(variant.files.map(({ path }) => context.file(path)));
  const inspected = await inspectVariant(variant, given);
  const gpu = await gpuCheck;
  const totalBytes = weightBytes({ files: variant.files });
  context.onProgress({ phase: 'load', loadedBytes: totalBytes, totalBytes });
  const model = inspected.blobs[0] ?? new Blob();

  return loadFitting(
    halvedLengths(variant.contextLength),
    (contextLength) =>
      loadOnce({ ...variant, contextLength }, context, { ...inspected, model, gpu, workers }),
    (error) => isLackOfMemory(error) || error instanceof NotLoaded,
  );
}

const threadCount = (): number => (hasThreads() ? chatThreads() : 1);

/** Starts llama.cpp while the weights are opened or downloaded; null if that fails, which the load then reports. */
const startWorker = async (context: EngineContext, gpuCheck: Promise<boolean>) => {
  try {
    const [build, gpu] = await Promise.all([chooseBuild(context), gpuCheck]);
    context.signal.throwIfAborted();
    return startAhead(build, context.wasm, { threads: threadCount(), gpu });
  } catch {
    return null;
  }
};

interface LoadParts {
  blobs: Blob[];
  roles: (FileRole | undefined)[];
  /** The file of the model itself, or the first part of it. */
  model: Blob;
  gpu: boolean;
  traits: GgufTraits;
  workers: Workers;
}

async function loadOnce(
  variant: WllamaVariant,
  context: EngineContext,
  { blobs, roles, model, gpu, traits, workers }: LoadParts,
): Promise<WllamaModel> {
  const { name, contextLength } = variant;
  const llama = await openLlama(blobs, {
    name,
    build: await chooseBuild(context),
    url: context.wasm,
    parameters: {
      n_ctx: contextLength,
      n_threads: threadCount(),
      warmup: false,
      ...(isEncoder(variant) ? encoderParameters(variant) : chatParameters(gpu, traits.kvInBlocks)),
      ...adaptersOf(roles),
      // In place of the file's, which llama.cpp would try out, without bounds: `PromptRenderer` reads it.
      chat_template: 'chatml',
    },
    ahead: (await workers.llama) ?? undefined,
    limits: isEncoder(variant) ? undefined : stateLimits(traits, contextLength, gpu),
    signal: context.signal,
  });
  const backend = gpu ? 'webgpu' : `wasm-${llama.threads}t`;
  const engine = llama.kernels ? `wllama-k${llama.kernels}` : 'wllama';
  try {
    return await toEngine(llama, variant, { model, traits, workers }, `${name}-${engine}-${backend}`);
  } catch (error) {
    await llama.close();
    throw error;
  }
}

type WllamaModel = Engine<'chat'> | Engine<'embedding'> | Engine<'rerank'>;

/** @throws Error for special tokens or a template that cannot be used */
async function toEngine(
  llama: Llama,
  variant: WllamaVariant,
  { model, traits, workers }: Omit<LoadParts, 'blobs' | 'roles' | 'gpu'>,
  fingerprint: string,
): Promise<WllamaModel> {
  const { dimensions, minDimensions, prefixes, contextLength } = variant;
  if (isEncoder(variant)) {
    const { reserved } = await specialTokens(model, -1, -1);
    const common = { fingerprint, contextLength, reserved };
    if (variant.pooling === 'rank' || dimensions === undefined) {
      const { llamaReranker } = await import('./llama-reranker.ts');
      return llamaReranker(llama, common);
    }
    const { llamaEmbedder } = await import('./llama-embedder.ts');
    return llamaEmbedder(llama, { ...common, dimensions, ...omitNulls({ prefixes, minDimensions }) });
  }
  const prompt = await chatPrompt(llama, model, traits, workers.template);
  return new WllamaEngine(llama, prompt, fingerprint, variant.sampling ?? {});
}

/** Adapters by the names that wllama gives files: it numbers all but a projector, and llama.cpp reads a model of one file from the first. */
function adaptersOf(roles: LoadParts['roles']): Pick<Parameters, 'lora_adapters'> {
  const numbered = roles.filter((role) => role !== 'projector');
  const padded = (number: number): string => String(number).padStart(5, '0');
  const adapters = numbered.flatMap((role, index) =>
    role === 'adapter'
      ? [{ path: `models/model-${padded(index + 1)}-of-${padded(numbered.length)}.gguf` }]
      : [],
  );
  return adapters.length > 0 ? { lora_adapters: adapters } : {};
}

/** Factor on the CPU's cache size (Q8_0): on the GPU the cache has half floats. */
const GPU_SHARE = 2;

/** Limits for saved prompt states; undefined if states are only keys and values, which are limited in tokens. */
function stateLimits(
  { kvValues, kvWindow, stateBytes }: GgufTraits,
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

async function chatPrompt(
  { addsBos, bos, chatTemplate, eos, imageMarker }: Llama,
  model: Blob,
  traits: GgufTraits,
  worker: TemplateWorker | undefined,
): Promise<PromptRenderer> {
  const tokens = await specialTokens(model, bos, eos);
  const reserved = [...tokens.reserved, ...(imageMarker === null ? [] : [imageMarker])];
  const template = chatTemplate || traits.chatTemplate;
  return new PromptRenderer({ template, tokens: { ...tokens, reserved }, addsBos }, worker);
}

type Parameters = LlamaOptions['parameters'];

/** Parameters for embeddings and rerankers. The batch is as long as the context, as llama.cpp computes a text in one step. */
const encoderParameters = ({ contextLength, pooling }: WllamaVariant): Parameters => ({
  embeddings: true,
  n_batch: contextLength,
  n_ubatch: contextLength,
  n_gpu_layers: 0,
  n_parallel: 1,
  ...(pooling && { pooling_type: pooling === 'last_token' ? 'last' : pooling }),
});

function chatParameters(gpu: boolean, kvInBlocks: boolean): Parameters {
  return {
    n_gpu_layers: gpu ? 99_999 : 0,
    n_parallel: SLOTS,
    kv_unified: true,
    // `slotStates()` copies states if they are worth it; this option would move every slot's state out each time.
    cache_idle_slots: false,
    n_batch: batchOf(gpu),
    n_ubatch: batchOf(gpu),
    ...(!gpu && (kvInBlocks ? CACHE_IN_BLOCKS : CACHE_IN_FLOATS)),
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
