import { freeBytes, PIECE_BYTES, type Shelf, type ShelfWriter } from './storage-backend.ts';

export const WEIGHTS_CACHE = 'localtext-weights';

/** The Cache API, where there is no file system; null where there is neither. */
export async function openCacheShelf(): Promise<Shelf | null> {
  try {
    return new CacheShelf(await caches.open(WEIGHTS_CACHE));
  } catch {
    return null;
  }
}

/** A piece an entry: an entry is there whole or not at all, and nothing can be added to it. */
class CacheShelf implements Shelf {
  readonly kind = 'cache';
  readonly #cache: Cache;

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  read(name: string): Promise<Blob | null> {
    return readPieces(this.#cache, name);
  }

  async write(name: string): Promise<ShelfWriter> {
    return {
      write: (bytes, at) => this.#cache.put(pieceUrl(name, at), new Response(bytes)),
      read: async (at) => {
        const piece = await this.#cache.match(pieceUrl(name, at));
        return new Uint8Array((await piece?.arrayBuffer()) ?? new ArrayBuffer(0));
      },
      // A piece is put whole in the place of the one before.
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

/** The pieces of a file as one blob, without a copy. */
export async function readPieces(cache: Cache, name: string): Promise<Blob | null> {
  const parts: Blob[] = [];
  for (let at = 0; ; at += PIECE_BYTES) {
    const piece = await cache.match(pieceUrl(name, at));
    if (!piece) return at === 0 ? null : new Blob(parts);
    parts.push(await piece.blob());
  }
}

/** Cache keys are addresses; these are never fetched. */
const FOLDER = '/localtext/weights/';
const pieceUrl = (name: string, at: number): string => `${FOLDER}${name}/${at}`;

function nameOf({ url }: Request): string {
  const [name = ''] = new URL(url).pathname.slice(FOLDER.length).split('/');
  return decodeURIComponent(name);
}
