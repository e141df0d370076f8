import { startHash, type Hash } from '../integrity/hash.ts';
import { sha256 } from '../integrity/sha256.ts';
import { PIECE_BYTES, readPiece } from '../backends/storage-backend.ts';

type Bytes = Uint8Array<ArrayBuffer>;

export interface Digest {
  sha256: string;
  pieces: string[];
}

/** The hash of a file whose pieces come in any order: it takes them in theirs, reading back what came too early. */
export class PieceHash {
  readonly #hash: Hash;
  readonly #pieces: Promise<string>[] = [];
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
      const bytes = fresh?.index === this.#next ? fresh.bytes : await read(this.#next);
      this.#pieces.push(sha256(bytes));
      this.#hash.update(bytes);
    }
  }

  /** Of the whole and of each piece, in hex; once all pieces have been taken. */
  async digest(): Promise<Digest> {
    return { sha256: this.#hash.digest(), pieces: await Promise.all(this.#pieces) };
  }
}

/** A blob's, read in pieces, so that a model is never whole in memory. */
export async function hashBlob(blob: Blob, signal: AbortSignal): Promise<Digest> {
  const hash = await PieceHash.create();
  const indices = Array.from({ length: Math.ceil(blob.size / PIECE_BYTES) }, (_, index) => index);
  await hash.advance(new Set(indices), (index) => readPiece(blob, index), signal);
  return hash.digest();
}
