import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { CommandError, parseFlags, UsageError } from './arguments.ts';
import { complain, print, shown } from './output.ts';
import { copySite } from './init/copy-site.ts';
import { removeSite } from './init/remove-site.ts';
import { hasViteConfig, readIfFile } from '../files.ts';
import { MADE_FILES } from '../made-files.ts';
import { SERVICE_WORKER } from '../package-files.ts';

const REMOVALS = new Set(['caches', 'all']);

export const help = `Usage: localtext init <folder> [--offline] [--network-first] [--offline-page <file>] [--servers]
       localtext init <folder> --remove[=all]

Copies what a site without a bundler needs into the folder that it is served from: the page library as one module
(localtext/localtext.js), its workers, the engines' WASM files, and the service worker. Run it again after each update
of localtext. It replaces and deletes only files that it has made, by their hashes in localtext-files.json.

  --offline   the service worker keeps the folder's other files too (pages, styles, scripts, images; no weights), so
              that the site opens without a network. Run it again whenever they change. It adds a <meta> tag to pages
              that load files with a hash in their names, to tell them from an earlier build's.
  --network-first
              pages come from the network; the last answer of each is stored with its files, and shown without a network.
              The default for a folder without a page (*.html): a server renders the pages.
  --offline-page <file>
              page of the folder that is shown without a network in place of one that is not stored, such as
              offline.html. Implies --network-first.
  --servers   the service worker can call the upstream servers of a catalog, and is 10 KB larger.
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
      'network-first': { type: 'boolean', default: false },
      'offline-page': { type: 'string' },
      servers: { type: 'boolean', default: false },
    },
  });
  const [folder, ...others] = positionals;
  const { remove, offline, servers, 'network-first': isNetworkFirst, 'offline-page': offlinePage } = values;
  if (folder === undefined || others.length > 0) {
    const hint = remove !== undefined && positionals.includes('all') ? ' Write --remove=all.' : '';
    throw new UsageError(`localtext init takes one folder.${hint}`);
  }
  if (folder.trim() === '')
    throw new UsageError('localtext init takes the name of a folder; "." is this one.');
  if (remove !== undefined) {
    if (!REMOVALS.has(remove)) throw new UsageError(`--remove takes no value, or "all"; not "${remove}".`);
    if (offline || servers || isNetworkFirst || offlinePage !== undefined)
      throw new UsageError('--remove goes with no other option.');
    tellChanged(folder, await removeSite(resolve(folder), remove));
    print(removed(shown(resolve(folder))));
    return;
  }
  refuseViteProject(folder);
  const pages = isNetworkFirst ? 'network-first' : undefined;
  const isFirst = !existsSync(join(folder, MADE_FILES));
  const copied = await copySite(resolve(folder), { offline, servers, pages, offlinePage });
  tellChanged(folder, copied.changed);
  print(`Copied ${copied.files} files (${(copied.bytes / 1e6).toFixed(1)} MB) to ${shown(resolve(folder))}.`);
  if (copied.isNetworkFirst) print('Pages come from the network, and are stored as visitors see them.');
  if (isFirst) print(whatIsLeft(folder, await isExtension(folder)));
}

function tellChanged(folder: string, changed: readonly string[]): void {
  for (const path of changed)
    complain(
      `Kept ${shown(join(folder, path))}: it was changed since localtext made it. Delete it yourself.`,
    );
}

function refuseViteProject(folder: string): void {
  // A new folder is more often a mistyped one.
  const project = existsSync(folder) ? resolve(folder) : dirname(resolve(folder));
  if (!hasViteConfig(project)) return;
  const message = `${shown(project)} has a vite.config. Add localtext/vite to it instead, or name the folder that the site is served from.`;
  throw new CommandError(message);
}

const removed = (folder: string): string =>
  [
    `Put a service worker into ${folder} that removes localtext from visitors' browsers.`,
    '',
    'Left to do:',
    '1. Remove start() and the plugin from the site, and its models from the folder.',
    `2. Deploy the folder, with ${SERVICE_WORKER}, for as long as visitors may come back.`,
  ].join('\n');

function whatIsLeft(folder: string, inExtension: boolean): string {
  const models = join(folder, 'models');
  const steps = [
    ...(existsSync(models) ? [] : [`Download the weights: npx localtext pull --to ${shown(models)}`]),
    ...(inExtension ? [START_IN_EXTENSION] : stepsOfSite(folder)),
  ];
  return ['', 'Left to do:', ...steps.map((step, index) => `${index + 1}. ${step}`)].join('\n');
}

const isExtension = async (folder: string): Promise<boolean> =>
  Boolean((await readIfFile(join(folder, 'manifest.json')))?.includes('"manifest_version"'));

const START_IN_EXTENSION =
  'Start it in an offscreen page, as examples/chrome-extension does, and load the folder in chrome://extensions.';

const stepsOfSite = (folder: string): string[] => [
  // The folder of a framework's public files.
  ...(existsSync(join(folder, '../package.json')) ? [START_WITH_BUNDLER] : []),
  START_IN_PAGE,
  [
    'Serve the folder over https or from localhost. `isolation` gives the pages WASM threads; leave it out if they embed',
    '   pages of other origins or open sign-in popups.',
  ].join('\n'),
  'When it is deployed: npx localtext doctor <url>',
];

const START_WITH_BUNDLER = [
  "If a bundler builds the app: install the package in it (npm install …/localtext-0.1.0.tgz), and in the app's code",
  "     import { start } from 'localtext';",
  "     const localtext = await start({ base: '/', isolation: ['./'] });",
  "     const { key } = await localtext.keys.ensure({ label: 'my app' });",
  "   esbuild, Rollup, Angular and Parcel also need `workerUrl: '/localtext/worker.js'`.",
  '   The bundler copies this folder into its build. With Vite, use the plugin localtext/vite in place of this command.',
].join('\n');

const START_IN_PAGE = [
  'In a page of the folder that no bundler builds:',
  '   <script type="module">',
  "     import { start } from './localtext/localtext.js';",
  "     const localtext = await start({ isolation: ['./'] });",
  "     const { key } = await localtext.keys.ensure({ label: 'my app' });",
  '   </script>',
  '   To open it without a network: run this with --offline, now and after each change of the folder.',
  "   If the site has its own service worker: 'Without a bundler' in docs/service-worker.md.",
].join('\n');
