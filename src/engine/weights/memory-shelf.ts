import type { Shelf, ShelfWriter } from './shelf.ts';

/** The last resort: the weights are gone with the tab. */
export class MemoryShelf implements Shelf {
  readonly kind = 'memory';
  readonly #files = new Map<string, Blob>();

  async read(name: string): Promise<Blob | null> {
    return this.#files.get(name) ?? null;
  }

  async write(name: string, start: number): Promise<ShelfWriter> {
    const parts: BlobPart[] = [];
    const before = this.#files.get(name);
    if (before && start > 0) parts.push(before.slice(0, start));
    return {
      write: async (bytes) => void parts.push(bytes.slice()),
      close: async () => void this.#files.set(name, new Blob(parts)),
    };
  }

  async remove(name: string): Promise<void> {
    this.#files.delete(name);
  }

  async free(): Promise<number | null> {
    return null;
  }
}
