import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { isClone, packageFile } from './package-files.ts';

/** Folder of the engines' WebAssembly files, below the site's base. */
export const WASM_PATH = 'localtext/wasm/';

/** Folder of these files in the package. */
export const WASM_FOLDER = 'dist/wasm';

let found: Promise<Map<string, string>> | undefined;

/**
 * The engines' WebAssembly files and the scripts that start them: name → path. The names have a hash of the
 * content: a tab of one build never gets a file of another.
 */
export const wasmFiles = (): Promise<Map<string, string>> => (found ??= findWasmFiles());

async function findWasmFiles(): Promise<Map<string, string>> {
  if (isClone()) {
    const { engineFiles } = await import('./engine-files/engine-files.ts');
    return new Map([...(await engineFiles())].map(([name, path]) => [hashedName(name, path), path]));
  }
  const folder = packageFile(WASM_FOLDER);
  return new Map(readdirSync(folder).map((name) => [name, join(folder, name)]));
}

const hashedName = (name: string, path: string): string =>
  name.replace(/\.\w+$/, `-${createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 8)}$&`);

const plainName = (name: string): string => name.replace(/-[\da-f]{8}(?=\.\w+$)/, '');

/** Names of the files, without a hash → with it. The engines' worker is compiled with them. */
export const wasmNames = async (): Promise<Record<string, string>> =>
  Object.fromEntries([...(await wasmFiles()).keys()].map((name) => [plainName(name), name]));

/**
 * Whether only some browsers request the file (Safari, browsers with a GPU). The others should not store it
 * in advance.
 */
export const isFallback = (url: string): boolean =>
  /^localtext\/wasm\/(ort-wasm-simd-threaded\.asyncify|wllama-compat)(-[\da-f]{8})?\.(js|wasm)$/.test(url);
