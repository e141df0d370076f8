import { CHUNK_BYTES, type StorageBackend, type BackendWriter } from './storage-backend.ts';

/** The last resort: the weights are gone with the tab. */
export class MemoryBackend implements StorageBackend {
  readonly kind = 'memory';
  /** Chunks by where they begin. */
  readonly #files = new Map<string, Map<number, Blob>>();

  async read(name: string): Promise<Blob | null> {
    const chunks = this.#files.get(name);
    const first = chunks?.get(0);
    if (!chunks || !first) return null;
    const parts: Blob[] = [first];
    for (let at = CHUNK_BYTES, next = chunks.get(at); next; at += CHUNK_BYTES, next = chunks.get(at)) {
      parts.push(next);
    }
    return new Blob(parts);
  }

  async write(name: string): Promise<BackendWriter> {
    const chunks = this.#files.get(name) ?? new Map<number, Blob>();
    this.#files.set(name, chunks);
    return {
      write: async (bytes, at) => void chunks.set(at, new Blob([bytes])),
      read: async (at) => new Uint8Array((await chunks.get(at)?.arrayBuffer()) ?? new ArrayBuffer(0)),
      // A chunk is put whole in the place of the one before.
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
