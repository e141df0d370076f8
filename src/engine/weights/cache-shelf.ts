import { freeBytes, type Shelf, type ShelfWriter } from './shelf.ts';

const CACHE = 'localtext-weights';

/** The Cache API, where there is no file system; null where there is neither. */
export async function openCacheShelf(): Promise<Shelf | null> {
  try {
    return new CacheShelf(await caches.open(CACHE));
  } catch {
    return null;
  }
}

class CacheShelf implements Shelf {
  readonly kind = 'cache';
  readonly #cache: Cache;

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  async read(name: string): Promise<Blob | null> {
    const response = await this.#cache.match(url(name));
    return response ? await response.blob() : null;
  }

  async write(name: string, start: number): Promise<ShelfWriter> {
    const before = start > 0 ? await this.read(name) : null;
    const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>();
    const put = this.#cache.put(url(name), new Response(readable));
    put.catch(() => undefined);
    const writer = writable.getWriter();
    if (before) {
      for await (const bytes of before.slice(0, start).stream()) await writer.write(bytes);
    }
    return {
      write: (bytes) => Promise.race([writer.write(bytes), put]),
      close: async () => {
        await writer.close();
        await put;
      },
    };
  }

  async remove(name: string): Promise<void> {
    await this.#cache.delete(url(name));
  }

  free(): Promise<number | null> {
    return freeBytes();
  }
}

/** Cache keys are addresses; this one is never fetched. */
const url = (name: string): string => `/localtext/weights/${name}`;
