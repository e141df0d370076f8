import {
  type BackendWriter,
  type ChunkEntries,
  entryWriter,
  readEntries,
  type StorageBackend,
} from './storage-backend.ts';
import { openOpfsBackend } from './opfs-backend.ts';
import { putWhole } from '#browser';
import { freeBytes } from '../storage-estimate.ts';

/** Backend of last resort: the weights are lost when the worker ends. */
export class MemoryBackend implements StorageBackend {
  readonly kind = 'memory';
  /** Files by name, their chunks by the offset of their first byte. */
  readonly files = new Map<string, Map<number, Blob>>();
  readonly #entries: ChunkEntries = {
    get: async (name, at) => this.files.get(name)?.get(at),
    put: async (name, at, bytes) => {
      const chunks = this.files.get(name) ?? new Map<number, Blob>();
      this.files.set(name, chunks.set(at, new Blob([bytes])));
    },
  };

  read(name: string): Promise<Blob | null> {
    return readEntries(this.#entries, name);
  }

  async write(name: string): Promise<BackendWriter> {
    return entryWriter(this.#entries, name);
  }

  async remove(name: string): Promise<void> {
    this.files.delete(name);
  }

  async names(prefix: string): Promise<string[]> {
    return [...this.files.keys()].filter((name) => name.startsWith(prefix));
  }

  async free(): Promise<number | null> {
    return null;
  }
}

const CACHE = 'localtext-weights';
/** Prefix of cache keys, which are URLs. They are never fetched. */
const FOLDER = '/localtext/weights/';
const chunkUrl = (name: string, at: number): string => `${FOLDER}${name}/${at}`;

/** Opens the Cache API, for browsers without a file system; null if it is not available. */
async function openCacheBackend(): Promise<StorageBackend | null> {
  const cache = await openCache().catch(() => null);
  if (!cache) return null;
  const entries = {
    get: (name: string, at: number) => getChunk(cache, name, at),
    put: (name: string, at: number, bytes: Uint8Array<ArrayBuffer>) =>
      putWhole(cache, chunkUrl(name, at), bytes),
  };
  return {
    kind: 'cache',
    read: (name) => readEntries(entries, name),
    write: async (name) => entryWriter(entries, name),
    remove: async (name) => {
      const ours = await keysOf(cache, `${name}/`);
      await Promise.all(ours.map((key) => cache.delete(key)));
    },
    names: async (prefix) => {
      const paths = (await keysOf(cache, prefix)).map(({ url }) => new URL(url).pathname);
      return [...new Set(paths.map((path) => path.slice(FOLDER.length, path.lastIndexOf('/'))))];
    },
    free: freeBytes,
  };
}

/** Reads a file for the service worker, which never writes. */
export async function readCached(name: string): Promise<Blob | null> {
  const cache = await openCache();
  return readEntries({ get: (_, at) => getChunk(cache, name, at) }, name);
}

const keysOf = async (cache: Cache, prefix: string): Promise<Request[]> =>
  (await cache.keys()).filter(({ url }) => new URL(url).pathname.startsWith(`${FOLDER}${prefix}`));

const openCache = async (): Promise<Cache> => caches.open(CACHE);

const getChunk = async (cache: Cache, name: string, at: number): Promise<Blob | undefined> =>
  (await cache.match(chunkUrl(name, at)))?.blob();

/** Opens the best backend that this browser supports. */
export const openBackend = async (): Promise<StorageBackend> =>
  (await openOpfsBackend()) ?? (await openCacheBackend()) ?? new MemoryBackend();
