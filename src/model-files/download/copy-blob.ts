import type { WeightFile } from '../../catalog/catalog.ts';
import { readChunk, type StorageBackend } from '../backends/storage-backend.ts';
import { wrongHash } from './download-errors.ts';
import { discardPartial, PartialFile } from './partial-file.ts';

/**
 * Writes a blob of this device as `download()` writes what a server sends: it continues from the chunks that are stored,
 * and after an abort they remain.
 * @throws EngineError `weights_corrupt` when what was written has another hash
 */
export async function copyBlob(
  backend: StorageBackend,
  { sha256, bytes, path }: WeightFile,
  blob: Blob,
  { signal, onProgress }: { signal: AbortSignal; onProgress?: (storedBytes: number) => void },
): Promise<void> {
  const partial = await PartialFile.open(backend, sha256, bytes);
  try {
    await partial.hashStored(signal);
    for (const index of partial.missing()) {
      onProgress?.(partial.storedBytes);
      signal.throwIfAborted();
      await partial.store(index, await readChunk(blob, index), signal);
    }
    onProgress?.(partial.storedBytes);
  } finally {
    await partial.close();
  }
  if ((await partial.digest()).sha256 === sha256) return;
  await discardPartial(backend, sha256);
  throw wrongHash({ path, bytes, sha256 });
}
