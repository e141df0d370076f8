/**
 * llama.cpp's worker as a file. The package starts the same text from a `blob:` URL, which `worker-src 'self'`
 * refuses: Emscripten's script as a function, the package's script of the worker, and our addition to it.
 * @param entry the package's entry point, `…/esm/index.js`
 * @param compat the script of `@wllama/wllama-compat`, for that build in place of the main one
 * @param kernels version of the kernels in its WASM, for `system_fingerprint`
 */
export declare function wllamaWorker(entry: string, compat?: string, kernels?: string): Promise<string>;
