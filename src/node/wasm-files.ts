import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { isClone, packageFile } from './package-files.ts';
import { wllamaWorker } from './wllama-worker.ts';

/** Where the engines' WebAssembly files are served, below the site's base. */
export const WASM_PATH = 'localtext/wasm/';

/** Where they are in the package. */
export const WASM_FOLDER = 'dist/wasm';

/** The engines' WebAssembly files and the scripts that start them: name → path. */
export async function wasmFiles(): Promise<Map<string, string>> {
  if (isClone()) return installedWasmFiles();
  const folder = packageFile(WASM_FOLDER);
  return new Map(readdirSync(folder).map((name) => [name, join(folder, name)]));
}

/** Their names and sizes. */
export const wasmSizes = async (): Promise<Map<string, number>> =>
  new Map([...(await wasmFiles())].map(([name, path]) => [name, statSync(path).size]));

/**
 * In a clone, from the engines' own packages. onnxruntime-web is resolved from transformers.js, which requires exactly
 * that version. Its `asyncify` build is the one with WebGPU.
 */
async function installedWasmFiles(): Promise<Map<string, string>> {
  const { resolve } = createRequire(import.meta.url);
  const wllama = resolve('@wllama/wllama/esm/wasm/wllama.wasm');
  const entry = join(wllama, '../../index.js');
  const compat = dirname(resolve('@wllama/wllama-compat/wasm/wllama.wasm'));
  const simd = simdLlamaFolder();
  const hasSimd = existsSync(join(simd, 'wllama.wasm')) && existsSync(join(simd, 'wllama-compat.wasm'));
  const script = (compatScript?: string): Promise<string> => wllamaWorker(entry, compatScript, hasSimd);
  const files = new Map([
    ['wllama.wasm', hasSimd ? join(simd, 'wllama.wasm') : wllama],
    ['wllama-worker.js', generated('wllama-worker.js', await script())],
    ['wllama-compat.wasm', hasSimd ? join(simd, 'wllama-compat.wasm') : join(compat, 'wllama.wasm')],
    ['wllama-compat.js', generated('wllama-compat.js', await script(join(compat, 'wllama.js')))],
  ]);
  const onnxRuntime = dirname(createRequire(resolve('@huggingface/transformers')).resolve('onnxruntime-web'));
  for (const build of ['ort-wasm-simd-threaded', 'ort-wasm-simd-threaded.asyncify']) {
    // nginx and others have no MIME type for `.mjs`.
    files.set(`${build}.js`, join(onnxRuntime, `${build}.mjs`));
    files.set(`${build}.wasm`, join(onnxRuntime, `${build}.wasm`));
  }
  return files;
}

/** Where `npm run build:llama` leaves what takes the place of the package's files; of this version of the package alone. */
export function simdLlamaFolder(): string {
  const entry = createRequire(import.meta.url).resolve('@wllama/wllama/esm/wasm/wllama.wasm');
  const { version } = JSON.parse(readFileSync(join(entry, '../../../package.json'), 'utf8')) as {
    version: string;
  };
  return packageFile(`node_modules/.cache/localtext/llama-simd-${version}`);
}

/** @returns the path of a script that no package has as a file */
function generated(name: string, script: string): string {
  const folder = packageFile('node_modules/.cache/localtext');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), script);
  return join(folder, name);
}

/** Whether only some browsers request it (Safari, those with a GPU): the others should not store it beforehand. */
export const isFallback = (url: string): boolean =>
  /^localtext\/wasm\/(ort-wasm-simd-threaded\.asyncify|wllama-compat)\.(js|wasm)$/.test(url);
