import type { WeightFile } from '#catalog';
import { z } from '#base/full-zod';
import { Mutex } from '#base';
import {
  type BackendWriter,
  CHUNK_BYTES,
  overwrite,
  parseStored,
  readChunk,
  readSmallFile,
  type StorageBackend,
} from '../backends/storage-backend.ts';
import { type Digest, FileHash } from '../integrity/integrity-record.ts';
import { wrongHash } from './download-errors.ts';

const chunkIndex = z.int().nonnegative();
const checkpointSchema = z.object({
  /** The file's version on the server (ETag or Last-Modified); null if unknown. */
  version: z.string().nullable(),
  /** Indexes of the stored chunks. */
  chunks: z.array(chunkIndex),
  /** Chunks of which only the first bytes are stored: index and number of bytes. */
  parts: z.array(z.tuple([chunkIndex, z.int().positive()])),
});

/** State of a partial download, stored beside its bytes so that it can be resumed. */
export type DownloadCheckpoint = z.output<typeof checkpointSchema>;

export const checkpointName = (name: string): string => `${name}.part`;

const lengthOf = (chunk: number, bytes: number): number => Math.min(CHUNK_BYTES, bytes - chunk * CHUNK_BYTES);

/** Reads the checkpoint of a download; null if it is missing or invalid. */
export async function readCheckpoint(
  backend: StorageBackend,
  name: string,
  bytes: number,
): Promise<DownloadCheckpoint | null> {
  const checkpoint = parseStored(await readSmallFile(backend, checkpointName(name)), checkpointSchema);
  const fits =
    checkpoint?.chunks.every((chunk) => lengthOf(chunk, bytes) > 0) &&
    checkpoint.parts.every(([chunk, received]) => received < lengthOf(chunk, bytes));
  return fits ? checkpoint : null;
}

/** Number of bytes that a checkpoint lists. */
export const checkpointBytes = ({ chunks, parts }: DownloadCheckpoint, bytes: number): number =>
  chunks.reduce((sum, chunk) => sum + lengthOf(chunk, bytes), 0) +
  parts.reduce((sum, [, received]) => sum + received, 0);

type Bytes = Uint8Array<ArrayBuffer>;

interface PartialFileParts {
  backend: StorageBackend;
  name: string;
  bytes: number;
  writer: BackendWriter;
  hash: FileHash;
  checkpoint: DownloadCheckpoint | null;
}

/** A partially stored file. Chunks are stored in any order, listed in a checkpoint, and hashed in file order. */
export class PartialFile {
  readonly chunkCount: number;
  /** The file's version on the server; null if unknown. */
  version: string | null;
  readonly #parts: PartialFileParts;
  readonly #stored = new Set<number>();
  /** Number of bytes at the start of chunks that are not stored as a whole. */
  readonly #starts: Map<number, number>;
  readonly #hashing = new Mutex();
  /** Two connections may receive the same chunk: one of them as a part of the whole file. */
  readonly #writing = new Mutex();
  readonly #saving = new Mutex();
  /** Kept open: Chromium sometimes never opens a file that was just closed. */
  #checkpointWriter: BackendWriter | null = null;

  /** Opens a file and resumes from its checkpoint. Without a checkpoint, existing bytes are dropped. */
  static async open(backend: StorageBackend, name: string, bytes: number): Promise<PartialFile> {
    const checkpoint = await readCheckpoint(backend, name, bytes);
    if (!checkpoint) await discardPartial(backend, name);
    const writer = await backend.write(name);
    try {
      await writer.resize(bytes);
    } catch (error) {
      await writer.close();
      if (!checkpoint) await discardPartial(backend, name);
      throw error;
    }
    return new PartialFile({ backend, name, bytes, writer, hash: await FileHash.create(), checkpoint });
  }

  private constructor(parts: PartialFileParts) {
    this.#parts = parts;
    this.chunkCount = Math.ceil(parts.bytes / CHUNK_BYTES);
    this.version = parts.checkpoint?.version ?? null;
    this.#starts = new Map(parts.checkpoint?.parts);
    for (const index of parts.checkpoint?.chunks ?? []) this.#add(index);
  }

  has(index: number): boolean {
    return this.#stored.has(index);
  }

  /** Iterates missing chunks. Evaluated lazily, so that several connections can share the iterator. */
  *missing(): Generator<number, void, undefined> {
    for (let index = 0; index < this.chunkCount; index++) if (!this.has(index)) yield index;
  }

  lengthOf(index: number): number {
    return lengthOf(index, this.#parts.bytes);
  }

  /** Number of stored bytes of a chunk. */
  storedOf(index: number): number {
    return this.has(index) ? this.lengthOf(index) : (this.#starts.get(index) ?? 0);
  }

  get storedBytes(): number {
    return checkpointBytes(this.#checkpoint(), this.#parts.bytes);
  }

  async store(index: number, bytes: Bytes, signal: AbortSignal): Promise<void> {
    const isNew = await this.#writing.run(async () => {
      // The stored bytes are those that are hashed.
      if (this.has(index)) return false;
      await this.#parts.writer.write(bytes, index * CHUNK_BYTES);
      this.#add(index);
      return true;
    });
    if (!isNew) return;
    // A chunk after those being hashed is read back when its turn comes.
    if (this.#parts.hash.next === index) await this.hashStored(signal, { index, bytes });
    if (this.chunkCount === 1) return;
    await this.#parts.writer.flush();
    await this.#saving.run(() => this.#saveCheckpoint());
  }

  /** Stores the first bytes of a chunk whose connection broke. */
  async storeStart(index: number, bytes: Bytes): Promise<void> {
    await this.#writing.run(async () => {
      if (bytes.length <= this.storedOf(index)) return;
      await this.#parts.writer.write(bytes, index * CHUNK_BYTES);
      this.#starts.set(index, bytes.length);
    });
    await this.#parts.writer.flush();
    await this.#saving.run(() => this.#saveCheckpoint());
  }

  /** Reads the stored bytes of a chunk. */
  readStart(index: number): Promise<Bytes> {
    return this.#parts.writer.read(index * CHUNK_BYTES, this.storedOf(index));
  }

  /** Hashes stored chunks up to the first gap. Chunks other than `arrived` are read back. */
  hashStored(signal: AbortSignal, arrived?: { index: number; bytes: Bytes }): Promise<void> {
    const { hash, writer } = this.#parts;
    return this.#hashing.run(async () => {
      for (let next = hash.next; this.has(next); next = hash.next) {
        signal.throwIfAborted();
        const early = arrived?.index !== next;
        await hash.add(early ? await writer.read(next * CHUNK_BYTES, this.lengthOf(next)) : arrived.bytes);
      }
    });
  }

  /** Returns the file's digest, once all chunks are stored and hashed. */
  digest(): Promise<Digest> {
    return this.#parts.hash.digest();
  }

  /** Closes the file. Stored chunks remain, so that it can be resumed. */
  async close(): Promise<void> {
    const last = async () => this.#stored.size < this.chunkCount && this.#saveCheckpoint();
    try {
      await this.#parts.writer.close();
      await this.#saving.run(last).catch(() => undefined);
    } finally {
      // Also if the first fails, as in a full storage: an open file can be opened by nobody else.
      await this.#checkpointWriter?.close();
    }
  }

  #add(index: number): void {
    this.#stored.add(index);
    this.#starts.delete(index);
  }

  #checkpoint(): DownloadCheckpoint {
    return { version: this.version, chunks: [...this.#stored], parts: [...this.#starts] };
  }

  async #saveCheckpoint(): Promise<void> {
    const { backend, name } = this.#parts;
    this.#checkpointWriter ??= await backend.write(checkpointName(name));
    await overwrite(this.#checkpointWriter, JSON.stringify(this.#checkpoint()));
  }
}

export async function discardPartial(backend: StorageBackend, name: string): Promise<void> {
  await backend.remove(checkpointName(name));
  await backend.remove(name);
}

/**
 * Stores a local blob as `download()` stores a response: resumes after the stored chunks, which remain after an abort.
 * @throws ServiceError `weights_corrupt` if the stored bytes have another hash
 */
export async function copyBlob(
  backend: StorageBackend,
  { sha256, bytes, path }: WeightFile,
  blob: Blob,
  { signal, onProgress }: { signal: AbortSignal; onProgress?: (storedBytes: number) => void },
): Promise<void> {
  const partial = await PartialFile.open(backend, sha256, bytes);
  try {
    await partial.hashStored(signal);
    for (const index of partial.missing()) {
      onProgress?.(partial.storedBytes);
      signal.throwIfAborted();
      await partial.store(index, await readChunk(blob, index), signal);
    }
    onProgress?.(partial.storedBytes);
  } finally {
    await partial.close();
  }
  if ((await partial.digest()).sha256 === sha256) return;
  await discardPartial(backend, sha256);
  throw wrongHash({ path, bytes, sha256 });
}
