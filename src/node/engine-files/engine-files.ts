import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { randomUUID, createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { packageFile } from '../package-files.ts';
import { wllamaWorker } from './wllama-worker.ts';
import { namesIn } from './linker/wasm-module.ts';
import { linkObject } from './linker/link-object.ts';
import { checkStructs, REPLACED } from './linker/llama-abi.ts';

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

/** The package's WASM with the kernels of tools/kernels. @throws Error if they do not fit the installed package */
function linkedWasm(build: LlamaBuild): { path: string; kernels: string } {
  try {
    const name = build === 'compat' ? 'wllama-compat.wasm' : 'wllama.wasm';
    return { path: generated(name, linkLlama(build)), kernels: kernelsVersion() };
  } catch (error) {
    throw new Error(
      `The fast kernels do not fit the installed @wllama/wllama (${build}): ${String(error)} Install the version in package-lock.json: npm ci.`,
      { cause: error },
    );
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

/** wllama's builds: with 64-bit addresses, and the one for browsers without them. */
export type LlamaBuild = 'default' | 'compat';

/** The package's WASM file of a build. */
export function packageWasm(build: LlamaBuild): string {
  const { resolve } = createRequire(import.meta.url);
  return resolve(
    build === 'compat' ? '@wllama/wllama-compat/wasm/wllama.wasm' : '@wllama/wllama/esm/wasm/wllama.wasm',
  );
}

/** The compiled kernels (tools/kernels). */
const kernelObject = (bits: 32 | 64): Buffer => readFileSync(packageFile(`tools/kernels/kernels-${bits}.o`));

const VERSION_LENGTH = 8;

/** Changes with the kernels; in `system_fingerprint`. */
export const kernelsVersion = (): string =>
  createHash('sha256')
    .update(kernelObject(64))
    .update(kernelObject(32))
    .digest('hex')
    .slice(0, VERSION_LENGTH);

/**
 * Links the kernels into the package's WASM.
 * @throws Error naming what in the package is not as the kernels expect
 */
export function linkLlama(build: LlamaBuild): Uint8Array {
  const bits = build === 'compat' ? 32 : 64;
  const module = readFileSync(packageWasm(build));
  return linkObject(module, namesIn(module), kernelObject(bits), REPLACED, (bodyOf) =>
    checkStructs(bits, bodyOf),
  );
}
