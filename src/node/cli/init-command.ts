import { copyFile, lstat, readdir, readFile, rm, stat } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import {
  builtServiceWorker,
  OWN_FILES,
  packageFile,
  REMOVAL_WORKER,
  SERVICE_WORKER,
  SERVICE_WORKER_IMPORT,
  STATIC_FOLDER,
  WEB_LLM_CHUNK,
  WORKER_MODULES,
} from '../package-files.ts';
import { CommandError, parseFlags, UsageError } from './arguments.ts';
import { addFile, addFolder, ownFilesScript, prefix, type FileLists } from '../site-files.ts';
import { WASM_PATH, wasmFiles } from '../wasm-files.ts';
import { makeFolder, makeWritableFolder, naming, replaceFile } from '../files.ts';

const SCRIPTS = [SERVICE_WORKER, OWN_FILES, SERVICE_WORKER_IMPORT];

interface Copied {
  files: number;
  bytes: number;
}

/** Page library as one module, in the folder `localtext`: the same line in every version, but for the hash. */
const LIBRARY = 'localtext.js';
const LIBRARY_TEXT = /^export \* from '\.\/page-[\w-]+\.js';\s*$/;
/** An engine's file; hosts and frameworks put compressed copies beside it. */
const WASM_FILE = /^wasm[\\/](wllama|ort-wasm)[\w.-]*-[\da-f]{8}\.(js|wasm)(\.\w+)?$/;

/** @throws CommandError where the site's folder has a `localtext` that neither `localtext init` nor the Vite plugin has made */
async function checkReplaceable(folder: string): Promise<void> {
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

/**
 * Copies the built files into a site's folder, in the place of an earlier version's.
 * @param options `offline`: the service worker keeps the site's own files too; `servers`: it can call upstream servers
 */
async function copySite(
  folder: string,
  { offline, servers }: { offline: boolean; servers: boolean },
): Promise<Copied> {
  await checkReplaceable(folder);
  const ours = new Set(['localtext', ...SCRIPTS, 'models'].map((name) => join(folder, name)));
  const site: FileLists = { shell: [], large: [] };
  if (offline) {
    await addFolder(site, folder, { skip: (path) => ours.has(path), marksPages: true });
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
  // First: a copy that is cut short can be replaced too.
  const sources = new Map([[`localtext/${LIBRARY}`, join(built, 'localtext', LIBRARY)]]);
  for (const name of await readdir(join(built, 'localtext')))
    sources.set(`localtext/${name}`, join(built, 'localtext', name));
  // The package has it once, among the modules for bundlers.
  const modules = packageFile(WORKER_MODULES);
  for (const name of (await readdir(modules)).filter((each) => each.startsWith(WEB_LLM_CHUNK)))
    sources.set(`localtext/${name}`, join(modules, name));
  for (const [name, path] of await wasmFiles()) sources.set(WASM_PATH + name, path);
  let bytes = 0;
  const kept: FileLists = { shell: [], large: [] };
  for (const [name, source] of sources) {
    const target = join(folder, name);
    await makeFolder(dirname(target));
    await naming(target, copyFile(source, target));
    bytes += (await stat(target)).size;
    addFile(kept, name, await readFile(target), name.startsWith(WASM_PATH));
  }
  const ownFiles = ownFilesScript(kept);
  for (const list of ['shell', 'large'] as const) kept[list].push(...site[list]);
  const scripts = {
    [SERVICE_WORKER]: prefix(kept) + (await readFile(builtServiceWorker(servers), 'utf8')),
    [OWN_FILES]: ownFiles,
    [SERVICE_WORKER_IMPORT]: ownFiles + (await readFile(join(built, SERVICE_WORKER_IMPORT), 'utf8')),
  };
  for (const [name, script] of Object.entries(scripts)) {
    await replaceFile(join(folder, name), script);
    bytes += Buffer.byteLength(script);
  }
  return { files: sources.size + SCRIPTS.length, bytes };
}

const REMOVALS = new Set(['caches', 'all']);

/** Removes the built files, and puts a service worker in the place of localtext's that removes it from visitors' browsers. */
async function removeSite(folder: string, what: string): Promise<void> {
  await checkReplaceable(folder);
  const script = await readFile(packageFile(`${STATIC_FOLDER}/${REMOVAL_WORKER}`), 'utf8');
  const removal = `self.__LOCALTEXT_REMOVE__=${JSON.stringify(what)};\n${script}`;
  await makeWritableFolder(folder);
  await rm(join(folder, 'localtext'), { recursive: true, force: true });
  const scripts = { [SERVICE_WORKER]: removal, [SERVICE_WORKER_IMPORT]: removal, [OWN_FILES]: '' };
  for (const [name, text] of Object.entries(scripts)) await replaceFile(join(folder, name), text);
}

export const help = `Usage: localtext init <folder> [--offline] [--servers]
       localtext init <folder> --remove[=all]

Copies what a site without a bundler needs into the folder that it is served from: the page library as one module
(localtext/localtext.js), its workers, the engines' WASM files, and the service worker. Run it again after each update
of localtext.

  --offline   the service worker keeps the folder's other files too (pages, styles, scripts, images; no weights), so
              that the site opens without a network. Run it again whenever they change. It adds a <meta> tag to pages
              that load files with a hash in their names, to tell them from an earlier build's.
  --servers   the service worker can call the upstream servers of a catalog, and is 9 KB larger.
  --remove    removes localtext from a site: deletes its files from the folder, and writes a service worker that deletes
              the site's files from visitors' browsers, unregisters itself and reloads their pages once. --remove=all:
              weights, keys and conversations too.
  --help      this text`;

export async function run(args: string[]): Promise<void> {
  const { values, positionals } = parseFlags({
    args: args.map((arg) => (arg === '--remove' ? '--remove=caches' : arg)),
    allowPositionals: true,
    options: {
      remove: { type: 'string' },
      offline: { type: 'boolean', default: false },
      servers: { type: 'boolean', default: false },
    },
  });
  const [folder, ...others] = positionals;
  if (folder === undefined || others.length > 0) throw new UsageError('localtext init takes one folder.');
  const { remove } = values;
  if (remove !== undefined) {
    if (!REMOVALS.has(remove)) throw new UsageError(`--remove takes no value, or "all"; not "${remove}".`);
    if (values.offline || values.servers) throw new UsageError('--remove goes with no other option.');
    await removeSite(resolve(folder), remove);
    console.log(removed(folder));
    return;
  }
  const { files, bytes } = await copySite(resolve(folder), values);
  console.log(`Copied ${files} files (${(bytes / 1e6).toFixed(1)} MB) to ${folder}.`);
  console.log(whatIsLeft(folder));
}

const removed = (folder: string): string =>
  [
    `Put a service worker into ${folder} that removes localtext from visitors' browsers.`,
    '',
    'Left to do:',
    '1. Remove start() and the plugin from the site, and its models from the folder.',
    `2. Deploy the folder, with ${SERVICE_WORKER}, for as long as visitors may come back.`,
  ].join('\n');

function whatIsLeft(folder: string): string {
  const models = join(folder, 'models');
  const steps = [
    ...(existsSync(models) ? [] : [`Download the weights: npx localtext pull --to ${models}`]),
    [
      'In a page of the folder:',
      '   <script type="module">',
      "     import { start } from './localtext/localtext.js';",
      '     const localtext = await start();',
      "     const { key } = await localtext.keys.ensure({ label: 'my app' });",
      '   </script>',
    ].join('\n'),
    [
      'Serve the folder over https or from localhost. For WASM threads on the first visit, send these headers with every',
      '   page and script; without them the service worker adds them from the second visit on:',
      '   Cross-Origin-Opener-Policy: same-origin',
      '   Cross-Origin-Embedder-Policy: require-corp',
    ].join('\n'),
    'When it is deployed: npx localtext doctor <url>',
  ];
  return ['', 'Left to do:', ...steps.map((step, index) => `${index + 1}. ${step}`)].join('\n');
}
