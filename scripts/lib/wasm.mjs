import { chmodSync, cpSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/**
 * The engines' WebAssembly files, so that nothing but localtext must be installed. After `buildNode()`.
 * @returns {Promise<string[]>} paths of the files copied
 */
export async function copyWasm() {
  const { wasmFiles, WASM_FOLDER } = await import('../../dist/node/wasm-files.js');
  mkdirSync(WASM_FOLDER, { recursive: true });
  const files = [...(await wasmFiles())];
  for (const [name, path] of files) {
    cpSync(path, join(WASM_FOLDER, name));
    // One package has it executable.
    chmodSync(join(WASM_FOLDER, name), 0o644);
  }
  // The compatibility build's WASM is linked, and comes from a folder that is no package.
  const compat = createRequire(import.meta.url).resolve('@wllama/wllama-compat/wasm/wllama.wasm');
  return [...files.map(([, path]) => path), compat];
}
