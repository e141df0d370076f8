import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Where the engines' WebAssembly files are served, below the site's base. */
export const WASM_PATH = 'localtext/wasm/';

/**
 * The engines' WebAssembly files and the scripts that start them: name → path in node_modules. onnxruntime-web is
 * resolved from transformers.js, which needs exactly that version. transformers.js takes the `asyncify` build on WASM as on
 * WebGPU, and the plain one on Safari before 26, which cannot run the other.
 */
export function wasmFiles(): Map<string, string> {
  const require = createRequire(import.meta.url);
  const transformers = createRequire(require.resolve('@huggingface/transformers'));
  const onnxRuntime = dirname(transformers.resolve('onnxruntime-web'));
  const names = ['ort-wasm-simd-threaded', 'ort-wasm-simd-threaded.asyncify'];
  return new Map([
    ['wllama.wasm', require.resolve('@wllama/wllama/esm/wasm/wllama.wasm')],
    ...names
      .flatMap((name) => [`${name}.mjs`, `${name}.wasm`])
      .map((name): [string, string] => [name, join(onnxRuntime, name)]),
  ]);
}

/** Whether only old browsers ask for it: the others should not store it beforehand. */
export function isFallback(name: string): boolean {
  return /^ort-wasm-simd-threaded\.(mjs|wasm)$/.test(name);
}
