import { copyFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { builtServiceWorker, packageFile, SERVICE_WORKER, STATIC_FOLDER } from '../../package-files.ts';
import { CommandError } from '../errors.ts';
import { addFile, addFolder, prefix, type SiteFiles } from '../../site-files.ts';
import { WASM_PATH, wasmFiles } from '../../wasm-files.ts';
import { makeFolder, makeWritableFolder, naming } from '../../files.ts';

export interface Copied {
  files: number;
  bytes: number;
}

/**
 * Copies the built files into a site's folder, in the place of an earlier version's.
 * @param options `offline`: the service worker keeps the site's own files too; `servers`: it can call upstream servers
 */
export async function copySite(
  folder: string,
  { offline, servers }: { offline: boolean; servers: boolean },
): Promise<Copied> {
  await makeWritableFolder(folder);
  const built = packageFile(STATIC_FOLDER);
  if (!existsSync(join(built, SERVICE_WORKER))) {
    throw new CommandError(`${built} has no built files. In a clone of the repository: npm run build:lib`);
  }
  // Names have hashes: an earlier version's would stay.
  await rm(join(folder, 'localtext'), { recursive: true, force: true });
  const sources = new Map<string, string>();
  for (const name of await readdir(join(built, 'localtext')))
    sources.set(`localtext/${name}`, join(built, 'localtext', name));
  for (const [name, path] of wasmFiles()) sources.set(WASM_PATH + name, path);
  let bytes = 0;
  const kept: SiteFiles = { shell: [], large: [] };
  for (const [name, source] of sources) {
    const target = join(folder, name);
    await makeFolder(dirname(target));
    await naming(target, copyFile(source, target));
    bytes += (await stat(target)).size;
    addFile(kept, name, await readFile(target));
  }
  if (offline) {
    const ours = new Set(['localtext', SERVICE_WORKER, 'models'].map((name) => join(folder, name)));
    await addFolder(kept, folder, (path) => ours.has(path));
  }
  const worker = prefix(kept) + (await readFile(builtServiceWorker(servers), 'utf8'));
  const target = join(folder, SERVICE_WORKER);
  await naming(target, writeFile(target, worker));
  return { files: sources.size + 1, bytes: bytes + Buffer.byteLength(worker) };
}
