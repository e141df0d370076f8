import { rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { makeFolder, naming, readIfFile } from '../../files.ts';

const POLL_MS = 500;
const TOUCH_MS = 1_000;
/**
 * Time after which a lock that nobody touches is taken over: its process may be busy, or another one may have
 * its id.
 */
const STALE_MS = 30_000;
/** The same limit if no process with the holder's id exists here: it may run in another container. */
const GONE_MS = 3_000;

/**
 * Holds the lock of the cache during `work`: two processes would write into the same `.part` files. The lock
 * is a file with the process id of its holder, which touches it.
 */
export async function withPullLock<T>(
  folder: string,
  onWaiting: (pid: number) => void,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  await makeFolder(folder);
  const path = join(folder, 'pull.lock');
  let isReported = false;
  // Measured with this clock: clocks of two machines differ, and a sleeping computer touches nothing.
  let touched = { atMs: Number.NaN, seenMs: 0 };
  while (!(await take(path))) {
    const pid = Number(String((await readIfFile(path)) ?? ''));
    const { mtimeMs: atMs } = await stat(path).catch(() => ({ mtimeMs: 0 }));
    const nowMs = performance.now();
    if (atMs !== touched.atMs) touched = { atMs, seenMs: nowMs };
    if (nowMs - touched.seenMs > (isAlive(pid) ? STALE_MS : GONE_MS)) {
      await rm(path, { force: true });
      continue;
    }
    if (!isReported && pid > 0) {
      isReported = true;
      onWaiting(pid);
    }
    await delay(POLL_MS, undefined, { signal });
  }
  const touch = setInterval(() => {
    const now = new Date();
    void utimes(path, now, now).catch(() => undefined);
  }, TOUCH_MS);
  try {
    return await work();
  } finally {
    clearInterval(touch);
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

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
