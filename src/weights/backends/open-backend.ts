import type { StorageBackend } from './storage-backend.ts';

/** The best backend that this browser has. */
export async function openBackend(): Promise<StorageBackend> {
  const { openOpfsBackend } = await import('./opfs-backend.ts');
  const opfs = await openOpfsBackend();
  if (opfs) return opfs;
  const { openCacheBackend } = await import('./cache-backend.ts');
  const cache = await openCacheBackend();
  if (cache) return cache;
  const { MemoryBackend } = await import('./memory-backend.ts');
  return new MemoryBackend();
}
