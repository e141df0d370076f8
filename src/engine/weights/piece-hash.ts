import { startHash, type Hash } from './hash.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** The hash of a file whose pieces come in any order: it takes them in theirs, reading back what came too early. */
export class PieceHash {
  readonly #hash: Hash;
  #next = 0;
  #turn: Promise<void> = Promise.resolve();

  static async create(): Promise<PieceHash> {
    return new PieceHash(await startHash());
  }

  private constructor(hash: Hash) {
    this.#hash = hash;
  }

  /** Goes on as far as there are pieces without a gap. */
  advance(
    there: ReadonlySet<number>,
    read: (index: number) => Promise<Bytes>,
    signal: AbortSignal,
    fresh?: { index: number; bytes: Bytes },
  ): Promise<void> {
    const turn = this.#turn.then(() => this.#goOn(there, read, signal, fresh));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #goOn(
    there: ReadonlySet<number>,
    read: (index: number) => Promise<Bytes>,
    signal: AbortSignal,
    fresh?: { index: number; bytes: Bytes },
  ): Promise<void> {
    for (; there.has(this.#next); this.#next++) {
      signal.throwIfAborted();
      this.#hash.update(fresh?.index === this.#next ? fresh.bytes : await read(this.#next));
    }
  }

  /** Hex; once all pieces have been taken. */
  digest(): string {
    return this.#hash.digest();
  }
}
