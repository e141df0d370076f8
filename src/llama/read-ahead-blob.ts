import { CHUNK_BYTES } from '#weights';

/** Number of buffered chunks. llama.cpp reads a layer's tensors out of file order, within some megabytes. */
const KEPT_CHUNKS = 6;
/** Bytes that `onBytes` gets twice: a block of numbers, which is smaller, may be in two pieces. */
const OVERLAP = 256;

/**
 * Blob that reads ahead, for a reader that requests a megabyte at a time: the next chunk is already loaded, and
 * little is read twice. Only for wllama, which calls `slice().arrayBuffer()` and `stream()`.
 */
export class ReadAheadBlob extends Blob {
  readonly #blob: Blob;
  /** Chunks by index, the least recently used first. */
  readonly #chunks = new Map<number, Promise<Uint8Array>>();

  readonly #onBytes: (at: number, bytes: Uint8Array) => void;

  /** @param onBytes called with the bytes that were read from the blob, and their position in it */
  constructor(blob: Blob, onBytes: (at: number, bytes: Uint8Array) => void = () => undefined) {
    super();
    this.#blob = blob;
    this.#onBytes = onBytes;
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
    let at = 0;
    const pull = async (controller: ReadableStreamDefaultController): Promise<void> => {
      const part = this.slice(at, at + CHUNK_BYTES);
      at += part.size;
      if (part.size === 0) controller.close();
      else controller.enqueue(new Uint8Array(await part.arrayBuffer()));
    };
    return new ReadableStream({ pull }, { highWaterMark: 0 });
  }

  /** Releases the buffered chunks. */
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
    const chunk = this.#chunks.get(index) ?? this.#load(index);
    this.#chunks.delete(index);
    this.#chunks.set(index, chunk);
    const [oldest] = this.#chunks.keys();
    if (oldest !== undefined && this.#chunks.size > KEPT_CHUNKS) this.#chunks.delete(oldest);
    return chunk;
  }

  async #load(index: number): Promise<Uint8Array> {
    const from = index * CHUNK_BYTES;
    const bytes = new Uint8Array(await this.#blob.slice(from, from + CHUNK_BYTES + OVERLAP).arrayBuffer());
    this.#onBytes(from, bytes);
    return bytes.subarray(0, CHUNK_BYTES);
  }
}
