/**
 * What is added to llama.cpp's worker. `src/node/wllama-worker.ts` bundles it, and appends it to the package's own script of the
 * worker, whose top-level names it uses. The file is also the script of llama.cpp's threads (`em-pthread`).
 *
 * @remarks
 * - Relies on: the names declared below; that a thread is a worker of this name which runs Emscripten's script at once.
 * - Read in: @wllama/wllama 3.8.1, `src/workers-code/llama-cpp.js`, `src/worker.ts`.
 * - Notices: test/unit/node/wllama-worker.test.ts compares the file with what the package starts.
 * - Then: the engine does not start, and a test fails before a release.
 */
import { BLOCKED_WORKER, onBlockedWorker } from '../../../util/policy-violations.ts';
import { hasTrustedTypes, trusting } from '../../../util/trusted-urls.ts';
import { findSlotLists, withoutSlots, type SlotList } from './slot-list.ts';
import { FIND_SLOTS, KERNELS_VERSION, TAKE_RESULT, type RunOptions } from './worker-verbs.ts';

declare let Module: { wasmMemory: WebAssembly.Memory };
declare const isCompat: boolean;
declare function wModuleInit(): void;
declare function runWasmCall(callbackId: number, call: () => Promise<void>): Promise<void>;
declare function runAction(message: WorkerMessage): Promise<void>;

interface WorkerMessage {
  verb: string;
  args: unknown[];
  callbackId: number;
}

/** Names that TypeScript's library lacks. */
interface Suspending {
  Suspending?: unknown;
  promising?: unknown;
}

const scope = globalThis as unknown as DedicatedWorkerGlobalScope & {
  RUN_OPTIONS: unknown;
  Worker: typeof Worker;
  /** Set by the lines before this file's. */
  KERNELS_VERSION?: string;
};

// Threads start from this same file, under Trusted Types too.
if (hasTrustedTypes()) scope.Worker = trusting(scope.Worker);
addJspi(WebAssembly as Suspending);
if (scope.name.startsWith('em-pthread')) {
  scope.RUN_OPTIONS = {};
  scope.onmessage = null;
  // Emscripten's threads begin with an empty module.
  Module = {} as typeof Module;
  wModuleInit();
} else {
  const options = JSON.parse(scope.name) as RunOptions;
  scope.RUN_OPTIONS = options;
  if (options.noWebGPU) hideGpu();
  // Emscripten would wait for its threads.
  onBlockedWorker(
    (directive) => scope.postMessage({ verb: BLOCKED_WORKER, args: [directive] }),
    new AbortController().signal,
  );
  if (scope.KERNELS_VERSION) scope.postMessage({ verb: KERNELS_VERSION, args: [scope.KERNELS_VERSION] });
  scope.addEventListener('message', ({ data }: MessageEvent<WorkerMessage | null>) => {
    if (data) answer(data);
  });
}

/** Identity function for `Suspending`, which is called with `new`. */
function unchanged<T>(imported: T): T {
  return imported;
}

/** Substitutes JSPI where the browser lacks it, as the package does: WASM imports and exports stay as they are. */
function addJspi(api: Suspending): void {
  if (api.Suspending !== undefined) return;
  api.Suspending = unchanged;
  api.promising =
    (exported: (...args: unknown[]) => unknown) =>
    (...args: unknown[]): Promise<unknown> => {
      try {
        return Promise.resolve(exported(...args));
      } catch (error) {
        return Promise.reject(error);
      }
    };
}

/** Keeps ggml from looking for a GPU, as the package does without GPU layers. */
function hideGpu(): void {
  Object.defineProperty(WorkerNavigator.prototype, 'gpu', {
    get: () => ({ requestAdapter: async () => null }),
  });
}

let slots: SlotList | null = null;
const words = (): Uint32Array => new Uint32Array(Module.wasmMemory.buffer);

function answer(message: WorkerMessage): void {
  const { verb, args, callbackId } = message;
  if (verb === FIND_SLOTS) {
    const lists = findSlotLists(words(), Number(args[0]), isCompat ? 1 : 2);
    // One alone is certain to be the server's.
    slots = lists.length === 1 ? (lists[0] ?? null) : null;
    scope.postMessage({ callbackId, result: lists.length });
  } else if (verb === TAKE_RESULT) {
    void runWasmCall(callbackId, async () => {
      try {
        if (!slots) throw new Error("llama.cpp's slots are not known");
        await withoutSlots(slots, words, () => runAction(message));
      } catch (error) {
        scope.postMessage({ callbackId, err: error });
      }
    });
  }
}
