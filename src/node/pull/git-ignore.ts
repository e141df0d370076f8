import { spawnSync } from 'node:child_process';

/** Whether git would add a folder's files: it is in a repository, and no rule ignores it. */
export function wouldBeCommitted(folder: string, cwd: string): boolean {
  // 0: ignored, 1: not ignored, 128: no repository; null: no git.
  const { status } = spawnSync('git', ['check-ignore', '--quiet', '--', `${folder}/x`], {
    cwd,
    stdio: 'ignore',
  });
  return status === 1;
}
