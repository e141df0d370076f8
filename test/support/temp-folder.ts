import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { atEnd } from './at-end.ts';

/** `localtext-test-<process>-<what>-<random>` */
const NAME = /^localtext-test-(\d+)-/;

/** A folder in the system's temporary one for a file's tests. Its name has this process's id, for `removeLeftFolders()`. */
export async function tempFolder(what: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `localtext-test-${process.pid}-${what}-`));
  atEnd(() => removeFolder(folder));
  return folder;
}

/** Removes a folder that a browser may still write to. */
export const removeFolder = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 5 });

/** Removes what processes that were killed have left in a folder: a browser's profile with weights has 250 MB. */
export async function removeLeftFolders(parent = tmpdir()): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, id] = NAME.exec(name) ?? [];
    // One that another user owns stays.
    if (id !== undefined && !isRunning(Number(id))) await removeFolder(join(parent, name)).catch(() => {});
  }
}

function isRunning(id: number): boolean {
  try {
    return process.kill(id, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
