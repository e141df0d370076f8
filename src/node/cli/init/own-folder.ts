import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { CommandError } from '../arguments.ts';

/**
 * Page library as one module, in the folder `localtext`: the same line in every version, but for the hash.
 */
export const LIBRARY = 'localtext.js';
const LIBRARY_TEXT = /^export \* from '\.\/page-[\w-]+\.js';\s*$/;
/** Name of an engine's file. Hosts and frameworks put compressed copies beside it. */
const WASM_FILE = /^wasm[\\/](wllama|ort-wasm)[\w.-]*-[\da-f]{8}\.(js|wasm)(\.\w+)?$/;

/**
 * @throws CommandError if the site's folder has a `localtext` that neither `localtext init` nor the Vite
 *   plugin has made
 */
export async function checkReplaceable(folder: string): Promise<void> {
  const path = join(folder, 'localtext');
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  const library = await readFile(join(path, LIBRARY), 'utf8').catch(() => '');
  if (found.isDirectory() && LIBRARY_TEXT.test(library)) return;
  const names = found.isDirectory() ? await readdir(path, { recursive: true }) : [];
  const isPlugins = (name: string): boolean => name === 'wasm' || WASM_FILE.test(name);
  if (names.length > 1 && names.every(isPlugins)) return;
  throw new CommandError(
    `${path} was not made by localtext init, which would delete it. Move or rename it, or name another folder.`,
  );
}
