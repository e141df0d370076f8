import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import type { WeightFile } from '../../../catalog/catalog.ts';
import { replaceFile } from '../../files.ts';

type Stamp = { bytes: number; modifiedMs: number; sha256: string };

/**
 * Remembers which files were found to have their hash, by size and time of change, so that a second run need not read
 * hundreds of megabytes again. A file that was touched since is hashed again.
 */
export class VerifiedFiles {
  readonly #file: string;
  readonly #stamps: Map<string, Stamp>;

  private constructor(file: string, stamps: Map<string, Stamp>) {
    this.#file = file;
    this.#stamps = stamps;
  }

  static async open(folder: string): Promise<VerifiedFiles> {
    const file = join(folder, 'verified.json');
    const stamps = await readFile(file, 'utf8').then(
      (text) => new Map(Object.entries(JSON.parse(text) as Record<string, Stamp>)),
      () => new Map<string, Stamp>(),
    );
    return new VerifiedFiles(file, stamps);
  }

  /** Whether the file at `path` is there and is the one that the catalog means. */
  async verify(path: string, { bytes, sha256 }: WeightFile, signal: AbortSignal): Promise<boolean> {
    const stats = await stat(path).catch(() => null);
    if (stats?.size !== bytes) return false;
    const stamp = this.#stamps.get(path);
    if (stamp?.modifiedMs === stats.mtimeMs && stamp.bytes === bytes && stamp.sha256 === sha256) return true;
    if ((await hashFile(path, signal)) !== sha256) return false;
    await this.record(path, sha256);
    return true;
  }

  async record(path: string, sha256: string): Promise<void> {
    const { size, mtimeMs } = await stat(path);
    this.#stamps.set(path, { bytes: size, modifiedMs: mtimeMs, sha256 });
    await replaceFile(this.#file, JSON.stringify(Object.fromEntries(this.#stamps), null, 1));
  }
}

export async function hashFile(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash, { signal });
  return hash.digest('hex');
}
