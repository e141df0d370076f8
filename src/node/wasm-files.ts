import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createHash, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { kernelsVersion, linkLlama, type LlamaBuild, packageWasm } from './kernels/llama-wasm.ts';
import { isClone, packageFile } from './package-files.ts';
import { wllamaWorker } from './wllama-worker.ts';

/** Folder of the engines' WebAssembly files, below the site's base. */
export const WASM_PATH = 'localtext/wasm/';

/** Their folder in the package. */
export const WASM_FOLDER = 'dist/wasm';

let found: Promise<Map<string, string>> | undefined;

/**
 * The engines' WebAssembly files and the scripts that start them: name → path. The names have a hash of the content: a
 * tab of one build never gets a file of another.
 */
export const wasmFiles = (): Promise<Map<string, string>> => (found ??= findWasmFiles());

async function findWasmFiles(): Promise<Map<string, string>> {
  if (isClone())
    return new Map([...(await installedWasmFiles())].map(([name, path]) => [hashedName(name, path), path]));
  const folder = packageFile(WASM_FOLDER);
  return new Map(readdirSync(folder).map((name) => [name, join(folder, name)]));
}

const hashedName = (name: string, path: string): string =>
  name.replace(/\.\w+$/, `-${createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 8)}$&`);

const plainName = (name: string): string => name.replace(/-[\da-f]{8}(?=\.\w+$)/, '');

/** What the engines' worker is compiled with: the files' names without a hash → with it. */
export const wasmNames = async (): Promise<Record<string, string>> =>
  Object.fromEntries([...(await wasmFiles()).keys()].map((name) => [plainName(name), name]));

/** Their names without a hash, and sizes. */
export const wasmSizes = async (): Promise<Map<string, number>> =>
  new Map([...(await wasmFiles())].map(([name, path]) => [plainName(name), statSync(path).size]));

/**
 * Collects the files from the engines' own packages, in a clone. onnxruntime-web is resolved from transformers.js,
 * which requires exactly that version. Its `asyncify` build is the one with WebGPU.
 */
async function installedWasmFiles(): Promise<Map<string, string>> {
  const { resolve } = createRequire(import.meta.url);
  const entry = join(packageWasm('default'), '../../index.js');
  const compat = dirname(packageWasm('compat'));
  const main = linkedWasm('default');
  const compatible = linkedWasm('compat');
  const script = wllamaWorker(entry, undefined, main.kernels);
  const compatScript = wllamaWorker(entry, join(compat, 'wllama.js'), compatible.kernels);
  const files = new Map([
    ['wllama.wasm', main.path],
    ['wllama-worker.js', generated('wllama-worker.js', await script)],
    ['wllama-compat.wasm', compatible.path],
    ['wllama-compat.js', generated('wllama-compat.js', await compatScript)],
  ]);
  const onnxRuntime = dirname(createRequire(resolve('@huggingface/transformers')).resolve('onnxruntime-web'));
  for (const build of ['ort-wasm-simd-threaded', 'ort-wasm-simd-threaded.asyncify']) {
    // nginx and others have no MIME type for `.mjs`.
    files.set(`${build}.js`, join(onnxRuntime, `${build}.mjs`));
    files.set(`${build}.wasm`, join(onnxRuntime, `${build}.wasm`));
  }
  return files;
}

/** The package's WASM with the kernels of tools/kernels; the package's own file where they cannot be linked. */
function linkedWasm(build: LlamaBuild): { path: string; kernels?: string } {
  try {
    const name = build === 'compat' ? 'wllama-compat.wasm' : 'wllama.wasm';
    return { path: generated(name, linkLlama(build)), kernels: kernelsVersion() };
  } catch (error) {
    console.warn(
      `localtext: the fast kernels do not fit the installed @wllama/wllama (${build}): ${String(error)} Its own file is served, which is several times slower. Install the version in package-lock.json: npm ci.`,
    );
    return { path: packageWasm(build) };
  }
}

/**
 * Other processes may read the file meanwhile: it is replaced in one step, and only where it differs.
 * @returns the path of a file that no package has
 */
function generated(name: string, content: string | Uint8Array): string {
  const folder = packageFile('node_modules/.cache/localtext');
  const path = join(folder, name);
  if (existsSync(path) && Buffer.compare(readFileSync(path), Buffer.from(content)) === 0) return path;
  mkdirSync(folder, { recursive: true });
  const temporary = `${path}.${randomUUID()}`;
  writeFileSync(temporary, content);
  renameSync(temporary, path);
  return path;
}

/** Whether only some browsers request it (Safari, those with a GPU): the others should not store it beforehand. */
export const isFallback = (url: string): boolean =>
  /^localtext\/wasm\/(ort-wasm-simd-threaded\.asyncify|wllama-compat)(-[\da-f]{8})?\.(js|wasm)$/.test(url);
