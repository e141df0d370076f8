type Bytes = Uint8Array<ArrayBuffer>;

/** Splits a response body into chunks. */
export class ChunkReader {
  readonly #body: AsyncGenerator<Bytes, void, undefined>;
  #rest: Bytes = new Uint8Array(0);

  constructor(body: AsyncGenerator<Bytes, void, undefined>) {
    this.#body = body;
  }

  /**
   * Fills `chunk`. The caller reuses its buffer, as browsers collect large buffers late.
   * @param onBytes called with the number of bytes of the chunk so far
   * @throws Error if the body ends before the chunk is full
   */
  async fill(chunk: Bytes, onBytes: (received: number) => void): Promise<void> {
    for (let received = 0; received < chunk.length; onBytes(received)) {
      if (await this.ended()) throw new Error(`the connection ended ${chunk.length - received} bytes early`);
      const part = this.#rest.subarray(0, chunk.length - received);
      chunk.set(part, received);
      this.#rest = this.#rest.subarray(part.length);
      received += part.length;
    }
  }

  async ended(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#body.next();
      if (done) return true;
      this.#rest = value;
    }
    return false;
  }

  async close(): Promise<void> {
    await this.#body.return();
  }
}
