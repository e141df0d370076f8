import { entryWriter, readEntries, type ChunkEntries } from './chunk-entries.ts';
import type { BackendWriter, StorageBackend } from './storage-backend.ts';

/** The last resort: the weights are gone with the tab. */
export class MemoryBackend implements StorageBackend {
  readonly kind = 'memory';
  /** By name, the chunks by where they begin. */
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

  async free(): Promise<number | null> {
    return null;
  }
}
