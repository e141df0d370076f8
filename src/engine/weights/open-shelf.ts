import type { Shelf } from './shelf.ts';

/** The best shelf that this browser has. */
export async function openShelf(): Promise<Shelf> {
  const { openOpfsShelf } = await import('./opfs-shelf.ts');
  const opfs = await openOpfsShelf();
  if (opfs) return opfs;
  const { openCacheShelf } = await import('./cache-shelf.ts');
  const cache = await openCacheShelf();
  if (cache) return cache;
  const { MemoryShelf } = await import('./memory-shelf.ts');
  return new MemoryShelf();
}
