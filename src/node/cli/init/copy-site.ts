import { readdir, readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

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
import {
  addFile,
  addFolder,
  isPage,
  chooseNetworkFirst,
  ownFilesScript,
  prefix,
  noFiles,
  type FileLists,
  type PageOptions,
} from '../../site-files.ts';
import { WASM_PATH, wasmFiles } from '../../wasm-files.ts';
import { makeWritableFolder, readIfFile, replaceFile } from '../../files.ts';
import { MADE_FILES, replaceMade } from '../../made-files.ts';
import { shown } from '../output.ts';

const SCRIPTS = [SERVICE_WORKER, OWN_FILES, SERVICE_WORKER_IMPORT];

interface Copied {
  files: number;
  bytes: number;
  /** Files of an earlier version that were changed since, and stay. */
  changed: string[];
  /** Whether pages come from the network, and are stored as they are seen. */
  isNetworkFirst: boolean;
}

interface CopyOptions extends PageOptions {
  /** Whether the service worker keeps the site's own files too. */
  offline: boolean;
  /** Whether the service worker can call upstream servers. */
  servers: boolean;
}

/**
 * Copies the built files into a site's folder, and replaces those of an earlier version.
 * @throws CommandError if a file is in the way, or the offline page is not there
 */
export async function copySite(folder: string, { offline, servers, ...pages }: CopyOptions): Promise<Copied> {
  const marked = new Map<string, Buffer>();
  const site = offline ? await siteFiles(folder, marked) : await offlinePageOf(folder, pages);
  const ofPages = chooseNetworkFirst(site, pages, offline || (await hasPage(folder)));
  await makeWritableFolder(folder);
  const built = packageFile(STATIC_FOLDER);
  if (!existsSync(join(built, SERVICE_WORKER)))
    throw new CommandError(`${built} has no built files. In a clone of the repository: npm run prepack`);
  const contents = new Map<string, string | Uint8Array>();
  for (const [name, source] of await sourcesIn(built)) contents.set(name, await readFile(source));
  const own = noFiles();
  for (const [name, content] of contents) addFile(own, name, content, name.startsWith(WASM_PATH));
  const all = { shell: [...own.shell, ...site.shell], large: [...own.large, ...site.large] };
  contents.set(SERVICE_WORKER, prefix(all, ofPages) + (await readFile(builtServiceWorker(servers), 'utf8')));
  contents.set(OWN_FILES, ownFilesScript(own));
  const importable = await readFile(join(built, SERVICE_WORKER_IMPORT), 'utf8');
  contents.set(SERVICE_WORKER_IMPORT, ownFilesScript(own) + importable);
  const changed = await replaceMade(folder, contents);
  for (const [path, page] of marked) await replaceFile(path, page);
  const bytes = [...contents.values()].reduce((sum, content) => sum + Buffer.byteLength(content), 0);
  return { files: contents.size, bytes, changed, isNetworkFirst: ofPages !== null };
}

/** Names in the folder that are not the site's own. */
const NOT_OF_SITE = ['localtext', MADE_FILES, ...SCRIPTS, 'models', 'node_modules'];

/** Whether the folder has a page. If not, a server renders the site's pages. */
async function hasPage(folder: string): Promise<boolean> {
  // With the types, Node follows no links, which may lead in circles.
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.some(({ parentPath, name }) => {
    const [top = ''] = relative(folder, join(parentPath, name)).split(sep);
    return isPage(name) && !NOT_OF_SITE.includes(top);
  });
}

async function offlinePageOf(folder: string, { offlinePage }: PageOptions): Promise<FileLists> {
  const lists = noFiles();
  if (offlinePage === undefined) return lists;
  const source = await readIfFile(join(folder, offlinePage));
  if (source !== null) addFile(lists, offlinePage.split('/').map(encodeURIComponent).join('/'), source);
  return lists;
}

/** Files of the site itself. @throws CommandError if it has no page */
async function siteFiles(folder: string, marked: Map<string, Buffer>): Promise<FileLists> {
  const own = new Set(NOT_OF_SITE.map((name) => join(folder, name)));
  const site = noFiles();
  await addFolder(site, folder, { skip: (path) => own.has(path), marked });
  if ([...site.shell, ...site.large].some(({ url }) => isPage(url))) return site;
  const message = `${shown(folder)} has no page (*.html) to keep for use without a network. Build the site first, then run localtext init --offline. If a server renders its pages, leave out --offline: pages are stored as they are seen.`;
  throw new CommandError(message);
}

/** The built files, by their names in the site's folder. */
async function sourcesIn(built: string): Promise<Map<string, string>> {
  const names = await readdir(join(built, 'localtext'));
  const sources = new Map(names.map((name) => [`localtext/${name}`, join(built, 'localtext', name)]));
  // The package has this chunk once, among the modules for bundlers.
  const modules = packageFile(WORKER_MODULES);
  for (const name of (await readdir(modules)).filter((each) => each.startsWith(WEB_LLM_CHUNK)))
    sources.set(`localtext/${name}`, join(modules, name));
  for (const [name, path] of await wasmFiles()) sources.set(WASM_PATH + name, path);
  return sources;
}
