/** URLs of onnxruntime's files, and its number of threads. */
export interface Runtime {
  script: string;
  wasm: string;
  threads: number;
}

/** Options for onnxruntime-web's `env.wasm`. */
export const wasmOptions = ({ script, wasm, threads }: Runtime) => ({
  wasmPaths: { mjs: script, wasm },
  numThreads: threads,
  // Milliseconds for starting the threads, download included. Only Firefox has a limit: threads may not start there.
  initTimeout: threads > 1 && navigator.userAgent.includes('Firefox/') ? 30_000 : 0,
});
