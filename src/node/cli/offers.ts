import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { spawnSync } from 'node:child_process';

import { defaultCatalog } from '#catalog/default';
import { cacheFolder } from './pull/cache-folder.ts';
import { shown } from './output.ts';
import { makeFolder, naming } from '../files.ts';
import { hubEndpoint, probeHub } from './pull/pull-hub.ts';
import { recommend, thisMachine } from './pull/recommend.ts';

/** Whether a user at a terminal can answer. */
const isInteractive = (): boolean => process.stdin.isTTY && process.stderr.isTTY && !process.env['CI'];

/** A question with `[Y/n]`: Enter accepts. */
async function ask(question: string, signal: AbortSignal): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  // The input may end without an answer: nothing is downloaded then.
  const ended = once(terminal, 'close').then(() => 'n');
  try {
    return !/^\s*n/i.test(await Promise.race([terminal.question(question, { signal }), ended]));
  } finally {
    terminal.close();
  }
}

/**
 * Offers a larger model for this machine, once for each machine and only on a terminal. Resolves to its name
 * if the user accepts.
 * @param wanted value of the flag; if set, nothing is asked
 */
export async function offerModel(wanted: boolean | undefined, signal: AbortSignal): Promise<string | null> {
  const variant = recommend(defaultCatalog, thisMachine());
  if (variant === null || wanted === false) return null;
  if (wanted) return variant.name;
  const offeredFile = join(cacheFolder(), 'offered');
  if (!isInteractive() || existsSync(offeredFile)) return null;
  if ((await probeHub(hubEndpoint(), signal)) !== null) return null;
  const gigabytes = ((variant.hub?.approximateBytes ?? 0) / 1e9).toFixed(1);
  const question = [
    'SmolLM2, which comes first, does small tasks and knows little. For this machine there is a more useful model:',
    `${variant.name}, about ${gigabytes} GB${variant.needs?.webgpu ? ', for browsers with WebGPU' : ''}.`,
    'Download it too? [Y/n] ',
  ].join('\n');
  const answer = await ask(question, signal);
  await makeFolder(cacheFolder());
  await naming(offeredFile, writeFile(offeredFile, `${variant.name}: ${answer ? 'yes' : 'no'}\n`));
  return answer ? variant.name : null;
}

/**
 * Keeps weights out of git.
 * @param mayAsk whether a terminal is asked to have the line added
 * @returns what is left to do, or was done; null: nothing, or the answer was no
 */
export async function offerToIgnore(
  folder: string,
  mayAsk: boolean,
  signal: AbortSignal,
  root = process.cwd(),
): Promise<string | null> {
  if (!wouldBeCommitted(folder, root)) return null;
  const path = relative(root, resolve(root, folder)).replaceAll('\\', '/');
  const outside = path === '' || path.startsWith('../');
  if (outside || !mayAsk || !isInteractive())
    return `git does not ignore ${shown(folder)}: add a line "${shown(path)}/" to .gitignore, so that the weights are not committed.`;
  const question = `git does not ignore ${shown(folder)}. Add "${shown(path)}/" to .gitignore? (No, if the site is deployed from this repository.) [Y/n] `;
  if (!(await ask(question, signal))) return null;
  const file = join(root, '.gitignore');
  const text = await readFile(file, 'utf8').catch(() => '');
  const separator = text === '' || text.endsWith('\n') ? '' : '\n';
  await naming(file, writeFile(file, `${text}${separator}${path}/\n`));
  return `Added "${shown(path)}/" to .gitignore.`;
}

/** Whether git would add a folder's files: it is in a repository, and no rule ignores it. */
function wouldBeCommitted(folder: string, cwd: string): boolean {
  // 0: ignored, 1: not ignored, 128: no repository; null: no git.
  const { status } = spawnSync('git', ['check-ignore', '--quiet', '--', `${folder}/x`], {
    cwd,
    stdio: 'ignore',
  });
  return status === 1;
}
