import { CHUNK_BYTES, readChunk } from '../../model-files/backends/storage-backend.ts';

/** llama.cpp reads a layer's tensors in another order than the file has them, within some megabytes. */
const KEPT_CHUNKS = 6;

/**
 * A blob for a reader that asks for a megabyte at a time and waits for it: what it asks for next is there already, and
 * little is read twice. For wllama alone, which takes `slice().arrayBuffer()` or `stream()` of it.
 */
export class ReadAheadBlob extends Blob {
  readonly #blob: Blob;
  /** Ordered by their last use, the latest at the end. */
  readonly #chunks = new Map<number, Promise<Uint8Array>>();

  constructor(blob: Blob) {
    super();
    this.#blob = blob;
  }

  override get size(): number {
    return this.#blob.size;
  }

  override slice(start = 0, end = this.size): Blob {
    const part = this.#blob.slice(start, end);
    part.arrayBuffer = () => this.#read(start, start + part.size);
    return part;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#blob.stream();
  }

  /** Releases the buffer after the last read. */
  forget(): void {
    this.#chunks.clear();
  }

  async #read(start: number, end: number): Promise<ArrayBuffer> {
    const bytes = new Uint8Array(end - start);
    for (let at = start; at < end;) {
      const index = Math.floor(at / CHUNK_BYTES);
      const chunk = this.#chunk(index);
      if ((index + 1) * CHUNK_BYTES < this.size) this.#chunk(index + 1).catch(() => undefined);
      const from = at - index * CHUNK_BYTES;
      const part = (await chunk).subarray(from, from + end - at);
      bytes.set(part, at - start);
      at += part.length;
    }
    return bytes.buffer;
  }

  #chunk(index: number): Promise<Uint8Array> {
    const chunk = this.#chunks.get(index) ?? readChunk(this.#blob, index);
    this.#chunks.delete(index);
    this.#chunks.set(index, chunk);
    const [oldest] = this.#chunks.keys();
    if (oldest !== undefined && this.#chunks.size > KEPT_CHUNKS) this.#chunks.delete(oldest);
    return chunk;
  }
}
