import type { WeightFile } from '../../catalog/catalog.ts';
import { CHUNK_BYTES, type StorageBackend } from '../backends/storage-backend.ts';
import type { FileOptions } from '../stored-file.ts';
import { ChunkReader } from './chunk-reader.ts';
import { sizeDiffers, wrongHash } from './download-errors.ts';
import { discardPartial, PartialFile } from './partial-file.ts';

/** So that a full storage shows before anything is downloaded. @throws QuotaExceededError */
export async function reserve(backend: StorageBackend, { sha256, bytes }: WeightFile): Promise<void> {
  await (await PartialFile.open(backend, sha256, bytes)).close();
}

/**
 * Writes a file to the backend from the same weights in Q4_1.
 * @returns the SHA-256 of each chunk, in hex
 * @throws ServiceError `weights_corrupt` when another file comes of it: nothing of that stays; the signal's reason
 */
export async function requantize(
  backend: StorageBackend,
  file: WeightFile,
  from: Blob,
  { signal, onProgress }: Pick<FileOptions, 'signal' | 'onProgress'>,
): Promise<string[]> {
  const { requantizeToQ8_0 } = await import('../gguf/requantize.ts');
  const reader = new ChunkReader(requantizeToQ8_0(from));
  const partial = await PartialFile.open(backend, file.sha256, file.bytes);
  const buffer = new Uint8Array(CHUNK_BYTES);
  try {
    onProgress(0, file.bytes, 'prepare');
    for (let index = 0; index < partial.chunkCount; index++) {
      const bytes = buffer.subarray(0, partial.lengthOf(index));
      await reader.fill(bytes, () => undefined);
      if (!partial.has(index)) await partial.store(index, bytes, signal);
      onProgress(Math.min((index + 1) * CHUNK_BYTES, file.bytes), file.bytes, 'prepare');
    }
    if (!(await reader.ended())) throw sizeDiffers(file, 'is longer');
    await partial.hashStored(signal);
  } finally {
    await reader.close();
    await partial.close();
  }
  const { sha256, chunks } = await partial.digest();
  if (sha256 === file.sha256) return chunks;
  await discardPartial(backend, file.sha256);
  throw wrongHash(file);
}
