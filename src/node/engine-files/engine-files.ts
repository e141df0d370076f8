import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { kernelsVersion, linkLlama, type LlamaBuild, packageWasm } from './llama-wasm.ts';
import { CommandError } from '../cli/arguments.ts';
import { packageFile } from '../package-files.ts';
import { wllamaWorker } from './wllama-worker.ts';

/**
 * Collects the engines' WebAssembly files and scripts from their own packages: name → path. onnxruntime-web is resolved
 * from transformers.js, which requires exactly that version. Its `asyncify` build is the one with WebGPU.
 */
export async function engineFiles(): Promise<Map<string, string>> {
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
  files.set('mp3-encoder.wasm', resolve('wasm-media-encoders/wasm/mp3'));
  return files;
}

/** The package's WASM with the kernels of tools/kernels. @throws CommandError if they do not fit the installed package */
function linkedWasm(build: LlamaBuild): { path: string; kernels: string } {
  const name = build === 'compat' ? 'wllama-compat.wasm' : 'wllama.wasm';
  let wasm: Uint8Array;
  try {
    wasm = linkLlama(build);
  } catch (error) {
    const message = `The fast kernels do not fit the installed @wllama/wllama (${build}): ${String(error)} Install the version in package-lock.json: npm ci.`;
    throw new CommandError(message, { cause: error });
  }
  return { path: generated(name, wasm), kernels: kernelsVersion() };
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
