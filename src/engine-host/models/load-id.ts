import type { Variant } from '../../catalog/catalog.ts';
import { engineFileName } from '../../engines/engine-file.ts';
import type { Engines } from '../../engines/engine.ts';

/** Names a load in the records. With other weights or another version of an engine, the load is another one. */
export const loadId = ({ name, files }: Pick<Variant, 'name' | 'files'>, engines: Engines): string => {
  const engineFiles = Object.values(engines).flatMap(({ wasm = [] }) => wasm);
  const hashes = files.map(({ sha256 }) => sha256.slice(0, 8));
  return [name, ...hashes, ...engineFiles.map(engineFileName)].join(' ');
};
