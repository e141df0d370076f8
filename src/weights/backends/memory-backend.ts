import { PIECE_BYTES, type Shelf, type ShelfWriter } from './storage-backend.ts';

/** The last resort: the weights are gone with the tab. */
export class MemoryShelf implements Shelf {
  readonly kind = 'memory';
  /** Pieces by where they begin. */
  readonly #files = new Map<string, Map<number, Blob>>();

  async read(name: string): Promise<Blob | null> {
    const pieces = this.#files.get(name);
    const first = pieces?.get(0);
    if (!pieces || !first) return null;
    const parts: Blob[] = [first];
    for (let at = PIECE_BYTES, next = pieces.get(at); next; at += PIECE_BYTES, next = pieces.get(at)) {
      parts.push(next);
    }
    return new Blob(parts);
  }

  async write(name: string): Promise<ShelfWriter> {
    const pieces = this.#files.get(name) ?? new Map<number, Blob>();
    this.#files.set(name, pieces);
    return {
      write: async (bytes, at) => void pieces.set(at, new Blob([bytes])),
      read: async (at) => new Uint8Array((await pieces.get(at)?.arrayBuffer()) ?? new ArrayBuffer(0)),
      // A piece is put whole in the place of the one before.
      resize: async () => undefined,
      flush: async () => undefined,
      close: async () => undefined,
    };
  }

  async remove(name: string): Promise<void> {
    this.#files.delete(name);
  }

  async names(): Promise<string[]> {
    return [...this.#files.keys()];
  }

  async free(): Promise<number | null> {
    return null;
  }
}
