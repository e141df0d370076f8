import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 500;

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
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'pull.lock');
  let told = false;
  while (!(await take(path))) {
    const pid = Number(await readFile(path, 'utf8').catch(() => ''));
    if (pid > 0 && !isAlive(pid)) {
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
    await writeFile(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
