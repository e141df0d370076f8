import { freeBytes, CHUNK_BYTES, type StorageBackend, type BackendWriter } from './storage-backend.ts';

export const WEIGHTS_CACHE = 'localtext-weights';

/** The Cache API, where there is no file system; null where there is neither. */
export async function openCacheBackend(): Promise<StorageBackend | null> {
  try {
    return new CacheBackend(await caches.open(WEIGHTS_CACHE));
  } catch {
    return null;
  }
}

/** A chunk an entry: an entry is there whole or not at all, and nothing can be added to it. */
class CacheBackend implements StorageBackend {
  readonly kind = 'cache';
  readonly #cache: Cache;

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  read(name: string): Promise<Blob | null> {
    return readChunks(this.#cache, name);
  }

  async write(name: string): Promise<BackendWriter> {
    return {
      write: (bytes, at) => this.#cache.put(chunkUrl(name, at), new Response(bytes)),
      read: async (at) => {
        const chunk = await this.#cache.match(chunkUrl(name, at));
        return new Uint8Array((await chunk?.arrayBuffer()) ?? new ArrayBuffer(0));
      },
      // A chunk is put whole in the place of the one before.
      resize: async () => undefined,
      flush: async () => undefined,
      close: async () => undefined,
    };
  }

  async remove(name: string): Promise<void> {
    const entries = await this.#cache.keys();
    const ours = entries.filter((entry) => nameOf(entry) === name);
    await Promise.all(ours.map((entry) => this.#cache.delete(entry)));
  }

  async names(): Promise<string[]> {
    return [...new Set((await this.#cache.keys()).map(nameOf))];
  }

  free(): Promise<number | null> {
    return freeBytes();
  }
}

/** The chunks of a file as one blob, without a copy. */
export async function readChunks(cache: Cache, name: string): Promise<Blob | null> {
  const parts: Blob[] = [];
  for (let at = 0; ; at += CHUNK_BYTES) {
    const chunk = await cache.match(chunkUrl(name, at));
    if (!chunk) return at === 0 ? null : new Blob(parts);
    parts.push(await chunk.blob());
  }
}

/** Cache keys are addresses; these are never fetched. */
const FOLDER = '/localtext/weights/';
const chunkUrl = (name: string, at: number): string => `${FOLDER}${name}/${at}`;

function nameOf({ url }: Request): string {
  const [name = ''] = new URL(url).pathname.slice(FOLDER.length).split('/');
  return decodeURIComponent(name);
}
