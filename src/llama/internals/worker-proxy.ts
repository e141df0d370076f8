/**
 * Access to wllama's private link to its worker, which its public methods use, too. The worker is
 * started from a file of this origin: wllama would use a `blob:` URL, which a Content-Security-Policy
 * with `worker-src 'self'` blocks.
 * @remarks
 * - Relies on: the private members in `WorkerProxy`; that `Wllama` assigns `proxy` once for each load, then calls
 *   `moduleInit()`; that it gets the build from `getWorkerResources()`; its `mediaMarker`.
 * - Read in: @wllama/wllama 3.13.0, `src/worker.ts`, `src/wllama.ts`.
 * - Notices: a member is missing.
 * - Then: the load fails with an error that names the version.
 */
import type { Wllama } from '@wllama/wllama';
import type {
  GlueMsgCancelReq,
  GlueMsgCompletionReq,
  GlueMsgEmbeddingReq,
  GlueMsgEmbeddingRes,
  GlueMsgGetResultReq as GetResultRequest,
  GlueMsgGetResultRes,
  GlueMsgRerankReq,
} from '@wllama/wllama/esm/glue/messages.js';

import type { ServiceError } from '#base';
import { BLOCKED_WORKER } from '#browser';
import { scriptFault, openWorker, workerBlocked } from '#engine-kit';
import { KERNELS_VERSION, type RunOptions } from './worker-verbs.ts';

export type { GetResultRequest };

interface Task {
  reject(error: unknown): void;
}

interface ModelFile {
  name: string;
  blob: Blob;
}

export interface WorkerProxy {
  resources: { wasmPath: string; compat: boolean; noWebGPU?: boolean };
  nbThread: number;
  useAsyncFile: boolean;
  taskQueue: Task[];
  resultQueue: Task[];
  fileBlobs: Map<string, Blob>;
  worker?: Worker;
  moduleInit(files: ModelFile[]): Promise<void>;
  onRecvMsg(event: MessageEvent): void;
  fileAlloc(name: string, bytes: number, inMemory: boolean): Promise<number>;
  fileWrite(id: number, blob: Blob): Promise<void>;
  wllamaAction(action: 'completion', body: GlueMsgCompletionReq): Promise<QueuedAnswer>;
  wllamaAction(action: 'embedding', body: GlueMsgEmbeddingReq): Promise<QueuedAnswer>;
  wllamaAction(action: 'rerank', body: GlueMsgRerankReq): Promise<QueuedAnswer>;
  wllamaAction(
    action: 'get_result' | 'take_result' | 'draft_result',
    body: GetResultRequest,
  ): Promise<ResultAnswer>;
  wllamaAction(action: 'cancel', body: GlueMsgCancelReq): Promise<unknown>;
}

/** Answer to a request that is queued. Only that to `embedding` gives its reason for a refusal. */
export type QueuedAnswer = Pick<GlueMsgEmbeddingRes, 'success' | 'req_id'> &
  Partial<Pick<GlueMsgEmbeddingRes, 'message'>>;

/** Answer to `get_result`. `data_json` is empty if no result is queued. */
export type ResultAnswer = Pick<GlueMsgGetResultRes, 'has_more' | 'data_json' | 'is_error'>;

/** Worker proxy of a loaded model. */
export const proxyOf = (wllama: Wllama): WorkerProxy => (wllama as unknown as { proxy: WorkerProxy }).proxy;

const METHODS = ['onRecvMsg', 'fileAlloc', 'fileWrite', 'wllamaAction'] as const;

/** @throws Error naming a member that this version of the package lacks */
function checkMembers(proxy: WorkerProxy): void {
  const missing = METHODS.find((name) => typeof proxy[name] !== 'function');
  const hasQueues = Array.isArray(proxy.taskQueue) && Array.isArray(proxy.resultQueue);
  if (missing === undefined && hasQueues) return;
  const message = `@wllama/wllama has changed: its ProxyToWorker has no ${missing ?? 'queues'}. Install version 3.13.0.`;
  throw new Error(message);
}

const kernels = new WeakMap<WorkerProxy, string>();

/** Version of the kernels in the WASM of a loaded `Wllama`. The worker reports it before its first answer. */
export const kernelsOf = (wllama: Wllama): string | undefined => kernels.get(proxyOf(wllama));

/** Limits for the prompt states that llama.cpp's server keeps. */
export interface StateLimits {
  /** Maximum number of checkpoints per prompt. */
  checkpoints: number;
  /** Maximum size of the saved states outside the slots. */
  savedBytes: number;
}

const MIB = 2 ** 20;

const drafting = new WeakSet<WorkerProxy>();

/** Whether steps of a loaded `Wllama` may draft tokens. */
export const canDraft = (wllama: Wllama): boolean => drafting.has(proxyOf(wllama));

/** Fields of a load that decide whether it may draft. */
interface LoadBody {
  n_gpu_layers?: number | null;
  embeddings?: boolean | null;
  mmproj_path?: string | null;
}

/**
 * Adds to a load what wllama has no parameters for: limits, for which only the linked kernels count bytes, or drafts
 * (tools/kernels/server.h). Models that need limits have states that cannot be cut after a draft, and on a GPU a
 * token's result depends on those computed with it.
 */
function adaptLoad(proxy: WorkerProxy, limits: StateLimits | undefined): void {
  const call = proxy.wllamaAction.bind(proxy) as (action: string, body: object) => Promise<unknown>;
  const adapted = (action: string, body: LoadBody): Promise<unknown> => {
    if (action !== 'load') return call(action, body);
    if (limits) {
      const name = kernels.has(proxy) ? `load_within_${Math.ceil(limits.savedBytes / MIB) + 1}` : action;
      return call(name, { ...body, n_ctx_checkpoints: limits.checkpoints });
    }
    const isPlain = body.n_gpu_layers === 0 && !body.embeddings && !body.mmproj_path;
    if (!kernels.has(proxy) || !isPlain) return call(action, body);
    drafting.add(proxy);
    return call('load_drafting', body);
  };
  Object.assign(proxy, { wllamaAction: adapted });
}

export interface WasmBuild {
  /** URL of the build's WASM file. */
  wasm: string;
  /** Whether it is the compatibility build. */
  compat: boolean;
}

/**
 * Makes a `Wllama` run a build. It would choose one by other features itself, never the compatibility build in Firefox,
 * and would fetch that one from a CDN.
 */
export function useBuild(wllama: Wllama, { wasm, compat }: WasmBuild): void {
  wllama.getWorkerResources = () => ({ wasmPath: wasm, compat });
}

/**
 * Makes a `Wllama` start its worker from a file of this origin, and the worker its threads.
 * @param limits default: as many checkpoints as llama.cpp keeps by itself, and saved states of as many
 *   tokens as the context has
 * @param ahead a worker to take, if it runs with the same options
 */
export function useWorkerFile(
  wllama: Wllama,
  urlOf: (name: string) => string,
  limits?: StateLimits,
  ahead?: AheadWorker,
): void {
  let current: WorkerProxy | null = null;
  Object.defineProperty(wllama, 'proxy', {
    get: () => current,
    set(proxy: WorkerProxy | null) {
      current = proxy;
      if (!proxy) return;
      checkMembers(proxy);
      adaptLoad(proxy, limits);
      proxy.moduleInit = (files) => start(proxy, files, urlOf, ahead);
    },
  });
}

/** Starts the worker as wllama's `moduleInit()` does, but from another script URL, unless one was started ahead. */
async function start(
  proxy: WorkerProxy,
  files: ModelFile[],
  urlOf: (name: string) => string,
  ahead: AheadWorker | undefined,
): Promise<void> {
  const { compat, wasmPath, noWebGPU = false } = proxy.resources;
  const options: RunOptions = {
    pathConfig: { 'wllama.wasm': wasmPath },
    nbThread: proxy.nbThread,
    compat,
    noWebGPU,
  };
  await (ahead?.take(options) ?? new AheadWorker(options, urlOf)).serve(proxy);
  const ids: number[] = [];
  for (const { name, blob } of files) {
    ids.push(await proxy.fileAlloc(name, blob.size, !proxy.useAsyncFile));
    if (proxy.useAsyncFile) proxy.fileBlobs.set(name, blob);
  }
  if (proxy.useAsyncFile) return;
  await Promise.all(files.map(({ blob }, index) => proxy.fileWrite(ids[index] ?? 0, blob)));
}

type WorkerMessage = MessageEvent<{ verb?: string; args: string[]; callbackId?: number }>;

/** Id of the first message, which no task of a proxy has. */
const INIT = -1;

/** llama.cpp's worker without a model. It compiles the code while the model's files are opened or downloaded. */
export class AheadWorker {
  readonly #name: string;
  readonly #worker: Worker;
  readonly #initialized: Promise<void>;
  #reject: (error: Error) => void = () => undefined;
  #version: string | undefined;
  #isTaken = false;
  /** Whether it started and then failed, for a reason that may have passed since, such as a lost network. */
  #isStale = false;
  #proxy: WorkerProxy | null = null;

  constructor(options: RunOptions, urlOf: (name: string) => string) {
    const url = urlOf(options.compat ? 'wllama-compat.js' : 'wllama-worker.js');
    this.#name = JSON.stringify(options);
    // The browser reports a missing file without a cause, and before the check of the WASM ends.
    const explain = async (error: ServiceError): Promise<void> =>
      error.code === 'worker_blocked'
        ? this.#fail(await scriptFault(url, error))
        : this.#fail(error, { isStale: true });
    this.#worker = openWorker(url, { type: 'module', name: this.#name }, (error) => void explain(error));
    this.#initialized = new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#worker.onmessage = (event: WorkerMessage) => {
        const { verb, args, callbackId } = event.data;
        if (callbackId === INIT) resolve();
        else if (verb === BLOCKED_WORKER) this.#fail(workerBlocked(url, args[0] ?? ''));
        else if (verb === KERNELS_VERSION) this.#version = args[0];
        else if (this.#proxy) this.#proxy.onRecvMsg(event);
        else if (verb === 'signal.abort') this.#fail(new Error(args[1]), { isStale: true });
      };
    });
    // No load may ever take the worker.
    this.#initialized.catch(() => undefined);
    const usesAsyncFile = 'Suspending' in WebAssembly || options.compat;
    this.#worker.postMessage({ verb: 'module.init', args: [url, usesAsyncFile], callbackId: INIT });
  }

  /** Takes the worker for a load. Null if another has taken it, if it has failed after its start, or if it runs with other options. */
  take(options: RunOptions): AheadWorker | null {
    if (this.#isTaken || this.#isStale || this.#name !== JSON.stringify(options)) return null;
    this.#isTaken = true;
    return this;
  }

  /** Connects the worker to a proxy, once it has compiled the code. @throws the worker's error */
  async serve(proxy: WorkerProxy): Promise<void> {
    proxy.worker = this.#worker;
    await this.#initialized;
    if (this.#version !== undefined) kernels.set(proxy, this.#version);
    this.#proxy = proxy;
  }

  /** Ends the worker unless a load has taken it. */
  end(): void {
    if (!this.#isTaken) this.#worker.terminate();
  }

  #fail(error: Error, { isStale } = { isStale: false }): void {
    this.#isStale ||= isStale;
    this.#reject(error);
    const { resultQueue = [], taskQueue = [] } = this.#proxy ?? {};
    for (const { reject } of [...resultQueue.splice(0), ...taskQueue.splice(0)]) reject(error);
  }
}

/** Text that stands for an image in a prompt; null if the model has no vision. */
export const mediaMarkerOf = (wllama: Wllama): string | null =>
  wllama.supportInputModality('image')
    ? ((wllama as unknown as { mediaMarker?: string }).mediaMarker ?? null)
    : null;
