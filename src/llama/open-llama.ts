import { CacheManager, type LoadModelParams, Wllama } from '@wllama/wllama';

import { abortable, printable, serverError, withTimeout, type ServiceError } from '#base';
import { checkWasmStart, isOutOfMemory, watchWasm } from '#engine-kit';
import type { Chunk } from './chunk.ts';
import { BARE } from './internals/prompt-slots.ts';
import { NativeLog, serverCalls, type ServerCalls } from './internals/server-calls.ts';
import {
  AheadWorker,
  canDraft,
  kernelsOf,
  mediaMarkerOf,
  type StateLimits,
  useBuild,
  useWorkerFile,
  type WasmBuild,
} from './internals/worker-proxy.ts';
import { numberCheck } from './number-check.ts';
import { ReadAheadBlob } from './read-ahead-blob.ts';
import { ReplyScheduler } from './reply-scheduler.ts';

/** Time limit for shutting down after a failed load, in milliseconds. */
const EXIT_MS = 2000;
/** llama.cpp's SentencePiece tokenizer refuses a character that a vocabulary without bytes lacks; its others leave it out. */
const TOKENIZER_KEY = 'tokenizer.ggml.model';
const SENTENCEPIECE = 'llama';
/** Maximum length of a tensor's name in an error. */
const MAX_NAME = 100;

export interface LlamaOptions {
  /** The model's name, for errors. */
  name: string;
  build: WasmBuild;
  /** Absolute URL of an engine's own file. */
  url(name: string): string;
  parameters: LoadModelParams & { n_parallel: number };
  /** Limits for saved prompt states. Absent: limited in tokens. */
  limits?: StateLimits | undefined;
  /** A worker that has compiled the code meanwhile. */
  ahead?: AheadWorker | undefined;
  signal: AbortSignal;
}

/** A model in llama.cpp's server. */
export type Llama = Awaited<ReturnType<typeof openLlama>>;

/** llama.cpp rejected the file or lacked memory for the context; it does not report which. */
export class NotLoaded extends Error {}

/** Starts a worker for `openLlama()`, to compile the code while the model's files are opened or downloaded. */
export const startAhead = (
  { wasm, compat }: WasmBuild,
  url: LlamaOptions['url'],
  { threads, gpu }: { threads: number; gpu: boolean },
): AheadWorker => {
  const pathConfig = { 'wllama.wasm': wasm };
  const nbThread = threads > 1 ? threads : 0;
  return new AheadWorker({ pathConfig, nbThread, compat, noWebGPU: !gpu }, url);
};

/**
 * Loads a model in llama.cpp's server, in a worker.
 * @throws ServiceError for a damaged or unusable file; `NotLoaded`; the error of a lack of memory; the signal's reason
 */
export async function openLlama(files: readonly Blob[], options: LlamaOptions) {
  const log = new NativeLog();
  const wllama = await start(files, options, log);
  const calls = serverCalls(wllama, log);
  const { n_parallel: slots } = options.parameters;
  const { n_ctx: context, n_vocab: vocabulary, metadata } = wllama.getLoadedContextInfo();
  const kernels = kernelsOf(wllama);
  const imageMarker = mediaMarkerOf(wllama);
  const addsBos = wllama.mustAddBosToken();
  // `BARE` needs the linked kernels. In a model with images, other code adds the BOS token and ignores it.
  const mayBeBare = imageMarker === null && kernels !== undefined;
  const bare = addsBos ? (mayBeBare ? BARE : null) : '';
  const encodesAll = metadata[TOKENIZER_KEY] !== SENTENCEPIECE;
  const scheduler = new ReplyScheduler(calls, { slots, bare, drafts: canDraft(wllama), context, encodesAll });
  return {
    slots,
    /** Number of tokens of prompts and replies together. */
    context,
    /** Number of tokens of the vocabulary. */
    vocabulary,
    threads: wllama.getNumThreads(),
    /** Version of the linked kernels (tools/kernels). Absent in the package's own WASM. */
    kernels,
    /** Text that stands for an image in a prompt; null if the model has no vision. */
    imageMarker,
    addsBos,
    bos: wllama.getBOS(),
    eos: wllama.getEOS(),
    /** The file's chat template; empty if it has none. */
    chatTemplate: wllama.getChatTemplate(),
    /** Completes a prompt: `ReplyScheduler.run()`. */
    complete: scheduler.run.bind(scheduler),
    /** Counts a prompt's tokens: `ReplyScheduler.count()`. */
    count: scheduler.count.bind(scheduler),
    /** Whether any completion runs or waits. */
    isBusy: () => scheduler.busy,
    /** Embeds a text, one at a time. @throws as `ServerCalls` do */
    embed: async (text: string): Promise<Chunk> => resultOf(calls, await calls.beginEmbedding(text)),
    /** Scores a document for a query, one at a time. @throws as `ServerCalls` do */
    async rank(query: string, document: string): Promise<{ score: number; tokens: number }> {
      const id = await calls.beginRank(query, document);
      const { score = Number.NaN, tokens_evaluated: tokens = 0 } = await resultOf(calls, id);
      return { score, tokens };
    },
    async close(): Promise<void> {
      scheduler.stop(new Error('the engine was unloaded'));
      await wllama.exit();
    },
  };
}

/** Computes until a request with one result has it. */
async function resultOf(calls: Pick<ServerCalls, 'step'>, id: number): Promise<Chunk> {
  for (let chunk: Chunk = {}; ;) {
    const { chunks, more } = await calls.step(id);
    chunk = chunks[0] ?? chunk;
    if (!more) return chunk;
  }
}

/** Cache for wllama that stores nothing: the weight store does. wllama's own cache fails to start in some browsers. */
export const noCache = (): CacheManager =>
  new CacheManager([
    {
      isSupported: () => true,
      read: async () => null,
      write: async () => undefined,
      getSize: async () => -1,
      list: async () => [],
      delete: async () => undefined,
    },
  ]);

async function start(
  files: readonly Blob[],
  { name, build, url, parameters, limits, ahead, signal }: LlamaOptions,
  log: NativeLog,
): Promise<Wllama> {
  const { wasm } = build;
  const settings = { cacheManager: noCache(), logger: log, suppressNativeLog: false };
  const wllama = new Wllama({ default: wasm }, settings);
  useBuild(wllama, build);
  useWorkerFile(wllama, url, limits, ahead);
  const loadEnded = new AbortController();
  try {
    const checks = await Promise.all(files.map(numberCheck));
    const buffered = files.map(
      (file, index) => new ReadAheadBlob(file, (at, bytes) => checks[index]?.check(at, bytes)),
    );
    const loaded = wllama.loadModel(buffered, parameters);
    const watch = watchWasm(wasm, AbortSignal.any([signal, loadEnded.signal]));
    await abortable(Promise.race([loaded, watch.then(() => loaded)]), signal);
    // wllama holds the blobs for its lifetime.
    for (const blob of buffered) blob.forget();
    const [broken] = checks.flatMap((check) => check.broken() ?? []);
    if (broken !== undefined) throw brokenNumbers(name, broken);
    // `loadModel()` also resolves if llama.cpp rejected the file or lacked memory for the context.
    if (!(wllama.getLoadedContextInfo().n_vocab > 0)) throw new NotLoaded('llama.cpp loaded no model');
    return wllama;
  } catch (error) {
    // A worker that has not started never answers `exit()`.
    await withTimeout(wllama.exit(), EXIT_MS);
    // The worker may have failed on a bad file before the watch read it.
    if (!signal.aborted) await checkWasmStart(wasm, signal);
    const { loadError } = log;
    if (loadError === null) throw error;
    throw isOutOfMemory(loadError) ? new Error(loadError, { cause: error }) : unusableFile(name, loadError);
  } finally {
    loadEnded.abort();
  }
}

/** Error for a file that no context length makes loadable. */
function unusableFile(name: string, reason: string): ServiceError {
  const message = `The model ${name} could not be loaded. llama.cpp says of its file: ${reason}. Use a file that this version of llama.cpp can read.`;
  return serverError('model_load_failed', message);
}

function brokenNumbers(name: string, tensor: string): ServiceError {
  const message = `The model ${name} could not be loaded: its tensor ${printable(tensor, MAX_NAME)} has a number that is infinite, NaN or far too large, or only zeros. The file is damaged, or its download did not end. Use another file.`;
  return serverError('model_load_failed', message);
}
