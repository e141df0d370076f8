import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';

import { ask, isInteractive } from './ask.ts';
import { naming } from '../files.ts';

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
    return `git does not ignore ${folder}: add a line "${path}/" to .gitignore, so that the weights are not committed.`;
  const question = `git does not ignore ${folder}. Add "${path}/" to .gitignore? [Y/n] `;
  if (!(await ask(question, signal))) return null;
  const file = join(root, '.gitignore');
  const text = await readFile(file, 'utf8').catch(() => '');
  const separator = text === '' || text.endsWith('\n') ? '' : '\n';
  await naming(file, writeFile(file, `${text}${separator}${path}/\n`));
  return `Added "${path}/" to .gitignore.`;
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
