import { openCacheBackend } from './cache-backend.ts';
import { MemoryBackend } from './memory-backend.ts';
import { openOpfsBackend } from './opfs-backend.ts';
import type { StorageBackend } from './storage-backend.ts';

/** The best backend that this browser has. */
export async function openBackend(): Promise<StorageBackend> {
  return (await openOpfsBackend()) ?? (await openCacheBackend()) ?? new MemoryBackend();
}
