import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';

import type { WeightFile } from '../../../catalog/catalog.ts';
import { makeFolder, naming, replaceFile } from '../../files.ts';

/** The user's own cache, in which weights outlive a clone. `LOCALTEXT_CACHE` overrides it. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, platform = process.platform): string {
  if (env['LOCALTEXT_CACHE']) return resolve(env['LOCALTEXT_CACHE']);
  if (platform === 'win32')
    return join(env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'localtext', 'Cache');
  if (platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'localtext');
  return resolve(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'localtext');
}

type VerifiedFile = { bytes: number; modifiedMs: number; sha256: string };

/**
 * Remembers which files were found to have their hash, by size and time of change, so that a second run need not read
 * hundreds of megabytes again. A file that was touched since is hashed again.
 */
export class VerifiedFiles {
  readonly #file: string;
  readonly #verified: Map<string, VerifiedFile>;

  private constructor(file: string, verified: Map<string, VerifiedFile>) {
    this.#file = file;
    this.#verified = verified;
  }

  static async open(folder: string): Promise<VerifiedFiles> {
    const file = join(folder, 'verified.json');
    // What is not an object has no entries, or none with a path.
    const verified = await readFile(file, 'utf8')
      .then((text) => new Map(Object.entries(JSON.parse(text) as Record<string, VerifiedFile>)))
      .catch(() => new Map<string, VerifiedFile>());
    return new VerifiedFiles(file, verified);
  }

  /** Whether the file at `path` is there and is the one that the catalog means. */
  async verify(path: string, { bytes, sha256 }: WeightFile, signal: AbortSignal): Promise<boolean> {
    const stats = await stat(path).catch(() => null);
    if (stats?.size !== bytes) return false;
    const known = this.#verified.get(path);
    if (known?.modifiedMs === stats.mtimeMs && known.bytes === bytes && known.sha256 === sha256) return true;
    if ((await hashFile(path, signal)) !== sha256) return false;
    await this.record(path, sha256);
    return true;
  }

  async record(path: string, sha256: string): Promise<void> {
    const { size, mtimeMs } = await stat(path);
    this.#verified.set(path, { bytes: size, modifiedMs: mtimeMs, sha256 });
    await replaceFile(this.#file, JSON.stringify(Object.fromEntries(this.#verified), null, 1));
  }
}

export async function hashFile(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash, { signal });
  return hash.digest('hex');
}

const POLL_MS = 500;
const ABANDONED_MS = 2_000;

/**
 * Holds the lock of the cache during `work`: two processes would write into the same `.part` files. The lock is a file
 * with the holder's process id; one whose process is gone is taken over.
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
