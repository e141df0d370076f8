import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolder, naming } from '../../files.ts';

const POLL_MS = 500;
const ABANDONED_MS = 2_000;

/**
 * Only one process at a time fills the cache: two would write into the same `.part` files. The lock is a file with the
 * holder's process id; one whose process is gone is taken over.
 */
export async function withPullLock<T>(
  folder: string,
  onWaiting: (pid: number) => void,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  await makeFolder(folder);
  const path = join(folder, 'pull.lock');
  let told = false;
  while (!(await take(path))) {
    const pid = Number(await readFile(path, 'utf8').catch(() => ''));
    if (pid > 0 ? !isAlive(pid) : await isAbandoned(path)) {
      await rm(path, { force: true });
      continue;
    }
    if (!told && pid > 0) {
      told = true;
      onWaiting(pid);
    }
    await delay(POLL_MS, undefined, { signal });
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  try {
    await naming(path, writeFile(path, String(process.pid), { flag: 'wx' }));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** A lock without a process id: its holder died, or ran out of space, between making and writing it. */
async function isAbandoned(path: string): Promise<boolean> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: 0 }));
  return Date.now() - mtimeMs > ABANDONED_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
