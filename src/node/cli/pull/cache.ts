import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';

import type { WeightFile } from '../../../catalog/catalog.ts';
import { makeFolder, naming } from '../../files.ts';

/** The user's own cache, in which weights outlive a clone. `LOCALTEXT_CACHE` overrides it. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, platform = process.platform): string {
  if (env['LOCALTEXT_CACHE']) return resolve(env['LOCALTEXT_CACHE']);
  if (platform === 'win32')
    return join(env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'localtext', 'Cache');
  if (platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'localtext');
  return resolve(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'localtext');
}

/** Whether the file at `path` is there and is the one that the catalog means. */
export async function isFile(
  path: string,
  { bytes, sha256 }: WeightFile,
  signal: AbortSignal,
): Promise<boolean> {
  const { size } = await stat(path).catch(() => ({ size: -1 }));
  return size === bytes && (await hashFile(path, signal)) === sha256;
}

export async function hashFile(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash, { signal });
  return hash.digest('hex');
}

const POLL_MS = 500;
const TOUCH_MS = 1_000;
/** Time after which a lock that nobody touches is taken over: its process may be busy, or another one may have its id. */
const STALE_MS = 30_000;
/** The same where no process with the holder's id is seen: it may run in another container. */
const GONE_MS = 3_000;

/**
 * Holds the lock of the cache during `work`: two processes would write into the same `.part` files. The lock is a file
 * with the holder's process id, which the holder touches.
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
  // Measured here: clocks of two machines differ, and a computer that sleeps touches nothing.
  let touched = { atMs: Number.NaN, seenMs: 0 };
  while (!(await take(path))) {
    const pid = Number(await readFile(path, 'utf8').catch(() => ''));
    const { mtimeMs: atMs } = await stat(path).catch(() => ({ mtimeMs: 0 }));
    const nowMs = performance.now();
    if (atMs !== touched.atMs) touched = { atMs, seenMs: nowMs };
    if (nowMs - touched.seenMs > (isAlive(pid) ? STALE_MS : GONE_MS)) {
      await rm(path, { force: true });
      continue;
    }
    if (!told && pid > 0) {
      told = true;
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
