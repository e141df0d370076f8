import { readCached } from './backends/open-backend.ts';
import { openWeightsFolder } from './backends/opfs-backend.ts';
import { pathNote, readSmallFile, recordName, type StoredPath } from './backends/storage-backend.ts';

/** Finds a complete file by its path in the models folder; null if it is not stored. For threads that never write. */
export async function findStored(
  scope: string,
  path: string,
): Promise<{ blob: Blob; sha256: string } | null> {
  const note = await readSmallFile({ read }, await pathNote(scope, path));
  if (note === null) return null;
  const { sha256, bytes } = JSON.parse(note) as StoredPath;
  const [record, blob] = await Promise.all([read(recordName(sha256)), read(sha256)]);
  return record && blob?.size === bytes ? { blob, sha256 } : null;
}

async function read(name: string): Promise<Blob | null> {
  try {
    return await (await (await openWeightsFolder()).getFileHandle(name)).getFile();
  } catch {
    return readCached(name);
  }
}
