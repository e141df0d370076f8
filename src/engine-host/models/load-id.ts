import type { Variant } from '../../catalog/catalog.ts';
import { engineFileName } from '../../engines/engine-file-name.ts';

const ENGINE_FILES = ['wllama.wasm', 'ort-wasm-simd-threaded.wasm'];

/** Names a load in the records. With other weights or another version of an engine, the load is another one. */
export const loadId = ({ name, files }: Pick<Variant, 'name' | 'files'>): string =>
  [name, ...files.map(({ sha256 }) => sha256.slice(0, 8)), ...ENGINE_FILES.map(engineFileName)].join(' ');
