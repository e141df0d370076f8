import type { Variant } from '#catalog';
import { engineFileName, type Engines } from '#engine-kit';

/** Identifies a load in the page's records. The id changes with the weights and with the version of any engine. */
export const loadId = ({ name, files }: Pick<Variant, 'name' | 'files'>, engines: Engines): string => {
  const engineFiles = Object.values(engines).flatMap(({ wasm = [] }) => wasm);
  const hashes = files.map(({ sha256 }) => sha256.slice(0, 8));
  return [name, ...hashes, ...engineFiles.map(engineFileName)].join(' ');
};
