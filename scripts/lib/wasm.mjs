import { chmodSync, cpSync, mkdirSync } from 'node:fs';
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
  return files.map(([, path]) => path);
}
