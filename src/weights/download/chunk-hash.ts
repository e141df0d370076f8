import { startHash, type Hash } from '../integrity/hash.ts';
import { sha256 } from '../integrity/sha256.ts';
import { CHUNK_BYTES, readChunk } from '../backends/storage-backend.ts';

type Bytes = Uint8Array<ArrayBuffer>;

export interface Digest {
  sha256: string;
  chunks: string[];
}

/** The hash of a file whose chunks come in any order: it takes them in theirs, reading back what came too early. */
export class ChunkHash {
  readonly #hash: Hash;
  readonly #chunks: Promise<string>[] = [];
  #next = 0;
  #turn: Promise<void> = Promise.resolve();

  static async create(): Promise<ChunkHash> {
    return new ChunkHash(await startHash());
  }

  private constructor(hash: Hash) {
    this.#hash = hash;
  }

  /** Goes on as far as there are chunks without a gap. */
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
      this.#chunks.push(sha256(bytes));
      this.#hash.update(bytes);
    }
  }

  /** Of the whole and of each chunk, in hex; once all chunks have been taken. */
  async digest(): Promise<Digest> {
    return { sha256: this.#hash.digest(), chunks: await Promise.all(this.#chunks) };
  }
}

/** A blob's, read in chunks, so that a model is never whole in memory. */
export async function hashBlob(blob: Blob, signal: AbortSignal): Promise<Digest> {
  const hash = await ChunkHash.create();
  const indices = Array.from({ length: Math.ceil(blob.size / CHUNK_BYTES) }, (_, index) => index);
  await hash.advance(new Set(indices), (index) => readChunk(blob, index), signal);
  return hash.digest();
}
