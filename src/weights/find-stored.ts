import { readCached } from './backends/open-backend.ts';
import { openWeightsFolder } from './backends/opfs-backend.ts';
import { INDEX, noteOf, readSmallFile, recordName } from './backends/storage-backend.ts';

/** The part of the index that is read here. An entry may be damaged. */
type IndexedFiles = Record<string, { files?: { path: string; sha256: string; bytes: number }[] } | null>;

/** Finds a complete file by its path in the models folder; null if it is not stored. For threads that never write. */
export async function findStored(
  scope: string,
  path: string,
): Promise<{ blob: Blob; sha256: string } | null> {
  const index = (await readSmallFile({ read }, await noteOf(scope, INDEX))) as IndexedFiles | null;
  const files = Object.values(index ?? {}).flatMap((entry) => entry?.files ?? []);
  // The latest version that is complete.
  for (const { sha256, bytes } of files.filter((file) => file.path === path).toReversed()) {
    const [record, blob] = await Promise.all([read(recordName(sha256)), read(sha256)]);
    if (record && blob?.size === bytes) return { blob, sha256 };
  }
  return null;
}

async function read(name: string): Promise<Blob | null> {
  try {
    return await (await (await openWeightsFolder()).getFileHandle(name)).getFile();
  } catch {
    return readCached(name);
  }
}
