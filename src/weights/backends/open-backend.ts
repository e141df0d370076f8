import type { Shelf } from './storage-backend.ts';

/** The best shelf that this browser has. */
export async function openShelf(): Promise<Shelf> {
  const { openOpfsShelf } = await import('./opfs-backend.ts');
  const opfs = await openOpfsShelf();
  if (opfs) return opfs;
  const { openCacheShelf } = await import('./cache-backend.ts');
  const cache = await openCacheShelf();
  if (cache) return cache;
  const { MemoryShelf } = await import('./memory-backend.ts');
  return new MemoryShelf();
}
