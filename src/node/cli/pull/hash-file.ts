import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

import type { WeightFile } from '#catalog';

/** Whether the file at `path` exists with the size and hash of the catalog. */
export async function isIntact(
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
