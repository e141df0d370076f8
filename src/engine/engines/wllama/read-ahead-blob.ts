import { PIECE_BYTES, readPiece } from '../../../weights/backends/storage-backend.ts';

/** llama.cpp takes a layer's tensors in another order than they lie in the file: back and forth in some megabytes. */
const KEPT_PIECES = 6;

/**
 * A blob for a reader that asks for a megabyte at a time and waits for it: what it asks for next is there already, and
 * little is read twice. For wllama alone, which takes `slice().arrayBuffer()` or `stream()` of it.
 */
export class ReadAheadBlob extends Blob {
  readonly #blob: Blob;
  /** By when they were last read, the latest at the end. */
  readonly #pieces = new Map<number, Promise<Uint8Array>>();

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

  /** Lets go of what it keeps, once all has been read. */
  forget(): void {
    this.#pieces.clear();
  }

  async #read(start: number, end: number): Promise<ArrayBuffer> {
    const bytes = new Uint8Array(end - start);
    for (let at = start; at < end;) {
      const index = Math.floor(at / PIECE_BYTES);
      const piece = this.#piece(index);
      if ((index + 1) * PIECE_BYTES < this.size) this.#piece(index + 1).catch(() => undefined);
      const from = at - index * PIECE_BYTES;
      const part = (await piece).subarray(from, from + end - at);
      bytes.set(part, at - start);
      at += part.length;
    }
    return bytes.buffer;
  }

  #piece(index: number): Promise<Uint8Array> {
    const piece = this.#pieces.get(index) ?? readPiece(this.#blob, index);
    this.#pieces.delete(index);
    this.#pieces.set(index, piece);
    const [oldest] = this.#pieces.keys();
    if (oldest !== undefined && this.#pieces.size > KEPT_PIECES) this.#pieces.delete(oldest);
    return piece;
  }
}
