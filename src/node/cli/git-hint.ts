import { spawnSync } from 'node:child_process';
import { relative, resolve } from 'node:path';

import { shown } from './output.ts';

/** Says how to keep a folder of weights out of git; null: git ignores it, or is not used. */
export function gitHint(folder: string, cwd = process.cwd()): string | null {
  // 0: ignored, 1: not ignored, 128: no repository; null: no git.
  const { status } = spawnSync('git', ['check-ignore', '--quiet', '--', `${folder}/x`], {
    cwd,
    stdio: 'ignore',
  });
  if (status !== 1) return null;
  const path = relative(cwd, resolve(cwd, folder)).replaceAll('\\', '/');
  const how = /^(\.\.)?(\/|$)/.test(path)
    ? 'take care not to commit the weights'
    : `add a line "${shown(path)}/" to .gitignore, so that the weights are not committed`;
  return `git does not ignore ${shown(folder)}: ${how}.`;
}
