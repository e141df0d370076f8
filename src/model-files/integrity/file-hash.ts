import { createSHA256, type IHasher } from 'hash-wasm';
import { CHUNK_BYTES, readChunk } from '../backends/storage-backend.ts';
import { sha256 } from '../../util/sha256.ts';

/** Hex. */
export interface Digest {
  sha256: string;
  chunks: string[];
}

/** SHA-256 of a file and of each of its chunks, added in order: 100 MB in about 0.25 s. */
export class FileHash {
  readonly #hasher: IHasher;
  readonly #chunks: Promise<string>[] = [];

  /** WebCrypto requires all bytes at once. */
  static async create(): Promise<FileHash> {
    return new FileHash((await createSHA256()).init());
  }

  private constructor(hasher: IHasher) {
    this.#hasher = hasher;
  }

  /** Number of the chunk to add next. */
  get next(): number {
    return this.#chunks.length;
  }

  /** The chunk's bytes may be overwritten once it resolves. */
  async add(chunk: Uint8Array<ArrayBuffer>): Promise<void> {
    const ofChunk = sha256(chunk);
    this.#chunks.push(ofChunk);
    this.#hasher.update(chunk);
    await ofChunk;
  }

  async digest(): Promise<Digest> {
    return { sha256: this.#hasher.digest('hex'), chunks: await Promise.all(this.#chunks) };
  }
}

/** Reads the blob in chunks, so that a model is never in memory as a whole. */
export async function hashBlob(
  blob: Blob,
  signal?: AbortSignal,
  onProgress?: (hashedBytes: number) => void,
): Promise<Digest> {
  const hash = await FileHash.create();
  while (hash.next * CHUNK_BYTES < blob.size) {
    signal?.throwIfAborted();
    onProgress?.(hash.next * CHUNK_BYTES);
    await hash.add(await readChunk(blob, hash.next));
  }
  return hash.digest();
}
