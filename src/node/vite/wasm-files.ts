import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Where the engines' WebAssembly files are served, below the site's base. */
export const WASM_PATH = 'localtext/wasm/';

/** The engines that need such files, and what a site without them cannot do. */
const ENGINES = {
  '@wllama/wllama': 'chat without WebGPU',
  '@huggingface/transformers': 'embeddings',
};

type EnginePackage = keyof typeof ENGINES;

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
  const find = (name: EnginePackage): NodeJS.Require | null => {
    for (const each of resolvers) {
      try {
        return createRequire(each.resolve(name));
      } catch {
        // Not installed there.
      }
    }
    return null;
  };
  const files = new Map<string, string>();
  const wllama = find('@wllama/wllama');
  if (wllama) files.set('wllama.wasm', wllama.resolve('@wllama/wllama/esm/wasm/wllama.wasm'));
  const transformers = find('@huggingface/transformers');
  if (transformers) {
    const onnxRuntime = dirname(transformers.resolve('onnxruntime-web'));
    for (const build of ['ort-wasm-simd-threaded', 'ort-wasm-simd-threaded.asyncify'])
      for (const name of [`${build}.mjs`, `${build}.wasm`]) files.set(name, join(onnxRuntime, name));
  }
  const missing = [
    ...(wllama ? [] : ['@wllama/wllama' as const]),
    ...(transformers ? [] : ['@huggingface/transformers' as const]),
  ].map((name) => `${name} is not installed: no ${ENGINES[name]}`);
  return { files, missing };
}

/** Whether only old browsers ask for it: the others should not store it beforehand. */
export function isFallback(name: string): boolean {
  return /^ort-wasm-simd-threaded\.(mjs|wasm)$/.test(name);
}
