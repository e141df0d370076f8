import type { Wllama } from '@wllama/wllama';

interface Task {
  reject(error: unknown): void;
}

/**
 * The package's own link to its worker, which its public methods go through, too. Its version is pinned, and a test
 * compares its script with our file.
 */
export interface WorkerProxy {
  resources: { wasmPath: string; compat: boolean; noWebGPU?: boolean };
  nbThread: number;
  useAsyncFile: boolean;
  taskId: number;
  taskQueue: Task[];
  resultQueue: Task[];
  fileBlobs: Map<string, Blob>;
  worker?: Worker;
  moduleInit(files: ModelFile[]): Promise<void>;
  onRecvMsg(event: MessageEvent): void;
  pushTask(task: { verb: string; args: unknown[]; callbackId: number }): Promise<unknown>;
  fileAlloc(name: string, bytes: number, inMemory: boolean): Promise<number>;
  fileWrite(id: number, blob: Blob): Promise<void>;
  wllamaAction(action: 'completion', body: object): Promise<{ success: boolean; req_id: number }>;
  wllamaAction(action: 'get_result', body: object): Promise<ResultAnswer>;
  wllamaAction(action: 'cancel', body: object): Promise<unknown>;
}

/** That of a model that is loaded. */
export const proxyOf = (wllama: Wllama): WorkerProxy => (wllama as unknown as { proxy: WorkerProxy }).proxy;

/** `data_json`: empty when no result waits. */
export interface ResultAnswer {
  has_more: boolean;
  data_json: string;
  is_error: boolean;
}

export interface ModelFile {
  name: string;
  blob: Blob;
}

/** Sends the worker one message. @returns its answer */
export const runTask = (proxy: WorkerProxy, verb: string, args: unknown[]): Promise<unknown> =>
  proxy.pushTask({ verb, args, callbackId: proxy.taskId++ });

/**
 * Bounds llama.cpp's saved prompt states to as many tokens as the context holds; the oldest are dropped first. The worker's
 * file says how (`wllama-worker.ts`). The 32-bit build has this bound already: 8 GiB is 0 there.
 */
export async function limitPromptStates(wllama: Wllama): Promise<void> {
  const proxy = proxyOf(wllama);
  if (proxy.resources.compat) return;
  const isLimited = await runTask(proxy, 'localtext.limit-states', [wllama.getLoadedContextInfo().n_ctx]);
  if (isLimited !== true) {
    console.warn(
      "localtext: the limit of llama.cpp's prompt cache was not found: its memory may grow to 4 GiB.",
    );
  }
}

/**
 * Lets results be taken without a step (`takeResult`). @param count slots of the server
 * @returns whether they can be; if not, each reply that runs comes whole, after the one before
 */
export async function findSlots(wllama: Wllama, count: number): Promise<boolean> {
  const isFound = (await runTask(proxyOf(wllama), 'localtext.find-slots', [count])) === true;
  if (!isFound)
    console.warn(
      "localtext: llama.cpp's slots were not found: of replies that run at once, one streams at a time.",
    );
  return isFound;
}

/** Computes a step; then takes one result of this completion. */
export const getResult = (proxy: WorkerProxy, id: number): Promise<ResultAnswer> =>
  proxy.wllamaAction('get_result', { _name: 'gres_req', req_id: id });

/** As `getResult()`, without a step: the worker's file says how (`wllama-worker.ts`). */
export function takeResult(proxy: WorkerProxy, id: number): Promise<ResultAnswer> {
  const taking: WorkerProxy = Object.create(proxy);
  taking.pushTask = (task) =>
    proxy.pushTask({ ...task, verb: 'localtext.take-result', callbackId: proxy.taskId++ });
  return getResult(taking, id);
}
