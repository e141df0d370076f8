import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Where the engines' WebAssembly files are served, below the site's base. */
export const WASM_PATH = 'localtext/wasm/';

export interface WasmFiles {
  /** Name → path in node_modules. */
  files: Map<string, string>;
  /** In words: the engines that are not installed. */
  missing: string[];
}

/**
 * The engines' WebAssembly files and the scripts that start them. onnxruntime-web is resolved from transformers.js,
 * which needs exactly that version. transformers.js takes the `asyncify` build on WASM as on WebGPU, and the plain one
 * on Safari before 26, which cannot run the other.
 * @param root folder of the site, whose packages come first
 */
export function wasmFiles(root: string): WasmFiles {
  const resolvers = [pathToFileURL(join(root, 'package.json')).href, import.meta.url].map((from) =>
    createRequire(from),
  );
  const find = (path: string): string | null => {
    for (const { resolve } of resolvers) {
      try {
        return resolve(path);
      } catch {
        // Not installed there.
      }
    }
    return null;
  };
  const files = new Map<string, string>();
  const missing: string[] = [];
  const lacks = (name: string, what: string): void => {
    missing.push(`${name} is not installed: without it, no ${what}`);
  };
  const wllama = find('@wllama/wllama/esm/wasm/wllama.wasm');
  if (wllama === null) lacks('@wllama/wllama', 'chat on devices without WebGPU');
  else files.set('wllama.wasm', wllama);
  const compat = find('@wllama/wllama-compat/wasm/wllama.wasm');
  if (compat === null) lacks('@wllama/wllama-compat', 'chat in Safari');
  else {
    files.set('wllama-compat.wasm', compat);
    files.set('wllama-compat.js', join(dirname(compat), 'wllama.js'));
  }
  const transformers = find('@huggingface/transformers');
  if (transformers === null) lacks('@huggingface/transformers', 'embeddings');
  else {
    const onnxRuntime = dirname(createRequire(transformers).resolve('onnxruntime-web'));
    for (const build of ['ort-wasm-simd-threaded', 'ort-wasm-simd-threaded.asyncify'])
      // nginx and others have no MIME type for `.mjs`.
      for (const [name, source] of [
        [`${build}.js`, `${build}.mjs`],
        [`${build}.wasm`, `${build}.wasm`],
      ] as const)
        files.set(name, join(onnxRuntime, source));
  }
  return { files, missing };
}

/** Whether only some browsers ask for it (Safari): the others should not store it beforehand. */
export function isFallback(name: string): boolean {
  return /^(ort-wasm-simd-threaded|wllama-compat)\.(js|wasm)$/.test(name);
}
