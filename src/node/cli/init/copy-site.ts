import { copyFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import {
  builtServiceWorker,
  OWN_FILES,
  packageFile,
  SERVICE_WORKER,
  SERVICE_WORKER_IMPORT,
  STATIC_FOLDER,
} from '../../package-files.ts';
import { CommandError } from '../errors.ts';
import { addFile, addFolder, ownFilesScript, prefix, type SiteFiles } from '../../site-files.ts';
import { WASM_PATH, wasmFiles } from '../../wasm-files.ts';
import { makeFolder, makeWritableFolder, naming } from '../../files.ts';

const SCRIPTS = [SERVICE_WORKER, OWN_FILES, SERVICE_WORKER_IMPORT];

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
  const ours = new Set(['localtext', ...SCRIPTS, 'models'].map((name) => join(folder, name)));
  const site: SiteFiles = { shell: [], large: [] };
  if (offline) {
    await addFolder(site, folder, (path) => ours.has(path));
    if (![...site.shell, ...site.large].some(({ url }) => /\.html?$/.test(url))) {
      throw new CommandError(
        `${folder} has no page (*.html) to keep for use without a network. Build the site first, then run localtext init --offline.`,
      );
    }
  }
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
  const ownFiles = ownFilesScript(kept);
  for (const list of ['shell', 'large'] as const) kept[list].push(...site[list]);
  const scripts = {
    [SERVICE_WORKER]: prefix(kept) + (await readFile(builtServiceWorker(servers), 'utf8')),
    [OWN_FILES]: ownFiles,
    [SERVICE_WORKER_IMPORT]: ownFiles + (await readFile(join(built, SERVICE_WORKER_IMPORT), 'utf8')),
  };
  for (const [name, script] of Object.entries(scripts)) {
    const target = join(folder, name);
    await naming(target, writeFile(target, script));
    bytes += Buffer.byteLength(script);
  }
  return { files: sources.size + SCRIPTS.length, bytes };
}
