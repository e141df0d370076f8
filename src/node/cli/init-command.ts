import { copyFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import {
  builtServiceWorker,
  OWN_FILES,
  packageFile,
  SERVICE_WORKER,
  SERVICE_WORKER_IMPORT,
  STATIC_FOLDER,
  WEB_LLM_CHUNK,
  WORKER_MODULES,
} from '../package-files.ts';
import { CommandError, parseFlags, UsageError } from './arguments.ts';
import { addFile, addFolder, ownFilesScript, prefix, type FileLists } from '../site-files.ts';
import { WASM_PATH, wasmFiles } from '../wasm-files.ts';
import { makeFolder, makeWritableFolder, naming } from '../files.ts';

const SCRIPTS = [SERVICE_WORKER, OWN_FILES, SERVICE_WORKER_IMPORT];

interface Copied {
  files: number;
  bytes: number;
}

/**
 * Copies the built files into a site's folder, in the place of an earlier version's.
 * @param options `offline`: the service worker keeps the site's own files too; `servers`: it can call upstream servers
 */
async function copySite(
  folder: string,
  { offline, servers }: { offline: boolean; servers: boolean },
): Promise<Copied> {
  const ours = new Set(['localtext', ...SCRIPTS, 'models'].map((name) => join(folder, name)));
  const site: FileLists = { shell: [], large: [] };
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

export const help = `Usage: localtext init <folder> [--offline] [--servers]

Copies what a site without a bundler needs into the folder that it is served from: the page library as one module
(localtext/localtext.js), its workers, the engines' WASM files, and the service worker. Run it again after each update
of localtext.

  --offline   the service worker keeps the folder's other files too (pages, styles, scripts, images; no weights), so
              that the site opens without a network. Run it again whenever they change.
  --servers   the service worker can call the upstream servers of a catalog, and is 4 KB larger.
  --help      this text`;

export async function run(args: string[]): Promise<void> {
  const { values, positionals } = parseFlags({
    args,
    allowPositionals: true,
    options: {
      offline: { type: 'boolean', default: false },
      servers: { type: 'boolean', default: false },
    },
  });
  const [folder, ...others] = positionals;
  if (folder === undefined || others.length > 0) throw new UsageError('localtext init takes one folder.');
  const { files, bytes } = await copySite(resolve(folder), values);
  console.log(`Copied ${files} files (${(bytes / 1e6).toFixed(1)} MB) to ${folder}.`);
  console.log(whatIsLeft(folder));
}

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
