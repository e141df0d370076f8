import { copyFile, readdir, readFile, rm, stat } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import {
  builtServiceWorker,
  OWN_FILES,
  packageFile,
  SERVICE_WORKER,
  SERVICE_WORKER_IMPORT,
  STATIC_FOLDER,
  WEB_LLM_CHUNK,
  WORKER_MODULES,
} from '../../package-files.ts';
import { CommandError } from '../arguments.ts';
import { addFile, addFolder, isPage, ownFilesScript, prefix, type FileLists } from '../../site-files.ts';
import { WASM_PATH, wasmFiles } from '../../wasm-files.ts';
import { makeFolder, makeWritableFolder, naming, replaceFile } from '../../files.ts';
import { checkReplaceable, LIBRARY } from './own-folder.ts';

const SCRIPTS = [SERVICE_WORKER, OWN_FILES, SERVICE_WORKER_IMPORT];

interface Copied {
  files: number;
  bytes: number;
}

/**
 * Copies the built files into a site's folder, and replaces those of an earlier version.
 * @param options `offline`: the service worker keeps the site's own files too; `servers`: it can call
 *   upstream servers
 */
export async function copySite(
  folder: string,
  { offline, servers }: { offline: boolean; servers: boolean },
): Promise<Copied> {
  await checkReplaceable(folder);
  const site = offline ? await siteFiles(folder) : { shell: [], large: [] };
  await makeWritableFolder(folder);
  const built = packageFile(STATIC_FOLDER);
  if (!existsSync(join(built, SERVICE_WORKER)))
    throw new CommandError(`${built} has no built files. In a clone of the repository: npm run prepack`);
  // Names have hashes: files of an earlier version would stay.
  await rm(join(folder, 'localtext'), { recursive: true, force: true });
  const sources = await sourcesIn(built);
  let bytes = 0;
  const own: FileLists = { shell: [], large: [] };
  for (const [name, source] of sources) {
    const target = join(folder, name);
    await makeFolder(dirname(target));
    await naming(target, copyFile(source, target));
    bytes += (await stat(target)).size;
    addFile(own, name, await readFile(target), name.startsWith(WASM_PATH));
  }
  const all = { shell: [...own.shell, ...site.shell], large: [...own.large, ...site.large] };
  const scripts = {
    [SERVICE_WORKER]: prefix(all) + (await readFile(builtServiceWorker(servers), 'utf8')),
    [OWN_FILES]: ownFilesScript(own),
    [SERVICE_WORKER_IMPORT]:
      ownFilesScript(own) + (await readFile(join(built, SERVICE_WORKER_IMPORT), 'utf8')),
  };
  for (const [name, script] of Object.entries(scripts)) {
    await replaceFile(join(folder, name), script);
    bytes += Buffer.byteLength(script);
  }
  return { files: sources.size + SCRIPTS.length, bytes };
}

/** Files of the site itself. @throws CommandError if it has no page */
async function siteFiles(folder: string): Promise<FileLists> {
  const own = new Set(['localtext', ...SCRIPTS, 'models'].map((name) => join(folder, name)));
  const site: FileLists = { shell: [], large: [] };
  await addFolder(site, folder, { skip: (path) => own.has(path), marksPages: true });
  if ([...site.shell, ...site.large].some(({ url }) => isPage(url))) return site;
  throw new CommandError(
    `${folder} has no page (*.html) to keep for use without a network. Build the site first, then run localtext init --offline.`,
  );
}

/** The built files, by their names in the site's folder. */
async function sourcesIn(built: string): Promise<Map<string, string>> {
  // The first file: an interrupted copy can be replaced, too.
  const sources = new Map([[`localtext/${LIBRARY}`, join(built, 'localtext', LIBRARY)]]);
  for (const name of await readdir(join(built, 'localtext')))
    sources.set(`localtext/${name}`, join(built, 'localtext', name));
  // The package has this chunk once, among the modules for bundlers.
  const modules = packageFile(WORKER_MODULES);
  for (const name of (await readdir(modules)).filter((each) => each.startsWith(WEB_LLM_CHUNK)))
    sources.set(`localtext/${name}`, join(modules, name));
  for (const [name, path] of await wasmFiles()) sources.set(WASM_PATH + name, path);
  return sources;
}
