import { entryWriter, readEntries } from './chunk-entries.ts';
import { freeBytes, type StorageBackend } from './storage-backend.ts';

const CACHE = 'localtext-weights';
/** Cache keys are URLs; these are never fetched. */
const FOLDER = '/localtext/weights/';
const chunkUrl = (name: string, at: number): string => `${FOLDER}${name}/${at}`;

/** The Cache API, where there is no file system; null where there is neither. */
export async function openCacheBackend(): Promise<StorageBackend | null> {
  const cache = await openCache().catch(() => null);
  if (!cache) return null;
  const entries = {
    get: (name: string, at: number) => getChunk(cache, name, at),
    put: (name: string, at: number, bytes: Uint8Array<ArrayBuffer>) =>
      cache.put(chunkUrl(name, at), new Response(bytes)),
  };
  return {
    kind: 'cache',
    read: (name) => readEntries(entries, name),
    write: async (name) => entryWriter(entries, name),
    remove: async (name) => {
      const keys = await cache.keys();
      const ours = keys.filter(({ url }) => new URL(url).pathname.startsWith(`${FOLDER}${name}/`));
      await Promise.all(ours.map((key) => cache.delete(key)));
    },
    free: freeBytes,
  };
}

/** For the service worker, which only reads. */
export async function readCached(name: string): Promise<Blob | null> {
  const cache = await openCache();
  return readEntries({ get: (_, at) => getChunk(cache, name, at) }, name);
}

const openCache = async (): Promise<Cache> => caches.open(CACHE);

async function getChunk(cache: Cache, name: string, at: number): Promise<Blob | undefined> {
  return (await cache.match(chunkUrl(name, at)))?.blob();
}
