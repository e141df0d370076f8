import type { IdleTimeout } from './idle-timeout.ts';

/** Cuts a body into chunks of given lengths. */
export class ChunkReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  readonly #watch: IdleTimeout;
  readonly #onBytes: (bytes: number) => void;
  #rest = new Uint8Array(0);
  /** Bytes of a chunk that is not whole yet. */
  partial = 0;

  constructor(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    watch: IdleTimeout,
    onBytes: (bytes: number) => void = () => undefined,
  ) {
    this.#reader = body.getReader();
    this.#watch = watch;
    this.#onBytes = onBytes;
  }

  /** @throws Error when the body ends before */
  async chunk(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const chunk = new Uint8Array(length);
    this.partial = 0;
    while (this.partial < length) {
      if (this.#rest.length === 0 && !(await this.#more())) {
        throw new Error(`the connection ended ${length - this.partial} bytes early`);
      }
      const taken = this.#rest.subarray(0, length - this.partial);
      chunk.set(taken, this.partial);
      this.#rest = this.#rest.subarray(taken.length);
      this.partial += taken.length;
      this.#onBytes(taken.length);
    }
    this.partial = 0;
    return chunk;
  }

  async ended(): Promise<boolean> {
    while (this.#rest.length === 0) if (!(await this.#more())) return true;
    return false;
  }

  async close(): Promise<void> {
    await this.#reader.cancel().catch(() => undefined);
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#watch.during(this.#reader.read());
    if (done) return false;
    this.#rest = value;
    return true;
  }
}
