/**
 * Code added to llama.cpp's worker. `src/node/engine-files/wllama-worker.ts` bundles it and appends it to
 * the package's worker script, whose top-level names it uses. The result is also the script of
 * llama.cpp's threads (`em-pthread`).
 * @remarks
 * - Relies on: the names declared below; that a thread is a worker with this name which
 *   runs Emscripten's script at once.
 * - Read in: @wllama/wllama 3.13.0, `src/workers-code/llama-cpp.js`, `src/worker.ts`.
 * - Notices: test/unit/node/engine-files/wllama-worker.test.ts compares the file with what the package starts.
 * - Then: the engine does not start, and a test fails before a release.
 */
import { BLOCKED_WORKER, onBlockedWorker, hasTrustedTypes, trusting } from '#browser';
import { KERNELS_VERSION, type RunOptions } from './worker-verbs.ts';

// oxlint-disable-next-line no-unused-vars -- Emscripten's script reads it
declare let Module: object;
declare function wModuleInit(): void;

/** Names that TypeScript's library lacks. */
interface Suspending {
  Suspending?: unknown;
  promising?: unknown;
}

const scope = globalThis as unknown as DedicatedWorkerGlobalScope & {
  RUN_OPTIONS: unknown;
  Worker: typeof Worker;
  /** Set by the script that this code is appended to. */
  KERNELS_VERSION?: string;
};

// Threads start from this same script, which Trusted Types must allow.
if (hasTrustedTypes()) scope.Worker = trusting(scope.Worker);
addJspi(WebAssembly as Suspending);
if (scope.name.startsWith('em-pthread')) {
  scope.RUN_OPTIONS = {};
  scope.onmessage = null;
  // Emscripten's threads begin with an empty module.
  Module = {};
  wModuleInit();
} else {
  const options = JSON.parse(scope.name) as RunOptions;
  scope.RUN_OPTIONS = options;
  if (options.noWebGPU) hideGpu();
  // Report a blocked thread: Emscripten would wait for it forever.
  onBlockedWorker(
    location.href,
    (directive) => scope.postMessage({ verb: BLOCKED_WORKER, args: [directive] }),
    new AbortController().signal,
  );
  if (scope.KERNELS_VERSION) scope.postMessage({ verb: KERNELS_VERSION, args: [scope.KERNELS_VERSION] });
}

/** Identity, in place of `Suspending`. A hoisted function, as it is used above and called with `new`. */
function unchanged<T>(imported: T): T {
  return imported;
}

/** Substitutes JSPI if the browser lacks it, as the package does: WASM imports and exports stay unchanged. */
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
