type Bytes = Uint8Array<ArrayBuffer>;

/** Cuts a body into chunks of given lengths. */
export class ChunkReader {
  readonly #body: AsyncGenerator<Bytes, void, undefined>;
  #rest: Bytes = new Uint8Array(0);

  constructor(body: AsyncGenerator<Bytes, void, undefined>) {
    this.#body = body;
  }

  /** @param onBytes called with the bytes of the chunk so far. @throws Error when the body ends before the chunk does */
  async read(length: number, onBytes: (received: number) => void): Promise<Bytes> {
    const chunk = new Uint8Array(length);
    for (let received = 0; received < length; onBytes(received)) {
      if (await this.ended()) throw new Error(`the connection ended ${length - received} bytes early`);
      const part = this.#rest.subarray(0, length - received);
      chunk.set(part, received);
      this.#rest = this.#rest.subarray(part.length);
      received += part.length;
    }
    return chunk;
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
