import type { PartialFile } from './partial-file.ts';
import type { BodyReader } from './request-part.ts';
import { CHUNK_BYTES } from '../backends/storage-backend.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Buffers for the chunks that connections receive, whose bytes are the download's progress. */
export class ChunkBuffers {
  readonly #partial: PartialFile;
  readonly #fileBytes: number;
  readonly #onProgress: (loadedBytes: number) => void;
  /** Bytes received of chunks that are not stored yet, by chunk. */
  readonly #inFlight = new Map<number, number>();
  readonly #spare: Bytes[] = [];
  #reported = 0;

  constructor(partial: PartialFile, fileBytes: number, onProgress: (loadedBytes: number) => void) {
    this.#partial = partial;
    this.#fileBytes = fileBytes;
    this.#onProgress = onProgress;
  }

  /** Reports progress, which never goes back although stored bytes may be discarded. */
  report(): void {
    let bytes = this.#partial.storedBytes;
    for (const [index, received] of this.#inFlight)
      bytes += Math.max(0, received - this.#partial.storedOf(index));
    this.#reported = Math.max(this.#reported, Math.min(bytes, this.#fileBytes));
    this.#onProgress(this.#reported);
  }

  /** Runs `fill` with the buffer of a chunk. */
  async use(index: number, fill: (bytes: Bytes) => Promise<void>): Promise<void> {
    // Reused, as browsers collect large buffers late.
    const buffer = this.#spare.pop() ?? new Uint8Array(Math.min(CHUNK_BYTES, this.#fileBytes));
    try {
      await fill(buffer.subarray(0, this.#partial.lengthOf(index)));
    } finally {
      this.#spare.push(buffer);
      this.report();
    }
  }

  /** Fills `bytes` from `from` on. If the connection breaks, stores what has arrived. */
  async receive(reader: BodyReader, index: number, bytes: Bytes, from: number): Promise<void> {
    let received = from;
    try {
      while (received < bytes.length) {
        const part = await reader.read(bytes.length - received);
        bytes.set(part, received);
        received += part.length;
        if (received <= this.#partial.storedOf(index)) continue;
        this.#inFlight.set(index, received);
        this.report();
      }
    } catch (error) {
      await this.#partial.storeStart(index, bytes.subarray(0, received)).catch(() => undefined);
      throw error;
    } finally {
      this.#inFlight.delete(index);
    }
  }
}
