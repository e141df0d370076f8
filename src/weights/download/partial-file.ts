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
import { type Digest, startHash } from '../integrity/integrity-record.ts';
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

/** A partially stored file. Chunks are stored in any order, listed in a checkpoint, and hashed in file order. */
export type PartialFile = Awaited<ReturnType<typeof openPartial>>;

/** Opens a file and resumes from its checkpoint. Without a checkpoint, existing bytes are dropped. */
export async function openPartial(backend: StorageBackend, name: string, bytes: number) {
  const before = await readCheckpoint(backend, name, bytes);
  if (!before) await discardPartial(backend, name);
  // Before the writer, which nothing would close if this failed.
  const hash = await startHash();
  const writer = await backend.write(name);
  try {
    await writer.resize(bytes);
  } catch (error) {
    await writer.close();
    if (!before) await discardPartial(backend, name);
    throw error;
  }
  const chunkCount = Math.ceil(bytes / CHUNK_BYTES);
  const stored = new Set(before?.chunks);
  /** Number of bytes at the start of chunks that are not stored as a whole. */
  const starts = new Map(before?.parts.filter(([index]) => !stored.has(index)));
  const hashing = new Mutex();
  /** Two connections may receive the same chunk: one of them as a part of the whole file. */
  const writing = new Mutex();
  const saving = new Mutex();
  /** Kept open: Chromium sometimes never opens a file that was just closed. */
  let checkpointWriter: BackendWriter | null = null;

  const has = (index: number): boolean => stored.has(index);
  /** Number of bytes of a whole chunk. */
  const chunkLength = (index: number): number => lengthOf(index, bytes);
  /** Number of stored bytes of a chunk. */
  const storedOf = (index: number): number => (has(index) ? chunkLength(index) : (starts.get(index) ?? 0));
  const checkpoint = (): DownloadCheckpoint => ({
    version: partial.version,
    chunks: [...stored],
    parts: [...starts],
  });

  async function saveCheckpoint(): Promise<void> {
    checkpointWriter ??= await backend.write(checkpointName(name));
    await overwrite(checkpointWriter, JSON.stringify(checkpoint()));
  }

  /** Hashes stored chunks up to the first gap. Chunks other than `arrived` are read back. */
  function hashStored(signal: AbortSignal, arrived?: { index: number; bytes: Bytes }): Promise<void> {
    return hashing.run(async () => {
      for (let next = hash.next; has(next); next = hash.next) {
        signal.throwIfAborted();
        const early = arrived?.index !== next;
        await hash.add(early ? await writer.read(next * CHUNK_BYTES, chunkLength(next)) : arrived.bytes);
      }
    });
  }

  const partial = {
    chunkCount,
    /** The file's version on the server; null if unknown. */
    version: before?.version ?? null,
    has,
    lengthOf: chunkLength,
    storedOf,
    hashStored,
    /** Iterates missing chunks. Evaluated lazily, so that several connections can share the iterator. */
    *missing(): Generator<number, void, undefined> {
      for (let index = 0; index < chunkCount; index++) if (!has(index)) yield index;
    },
    get storedBytes(): number {
      return checkpointBytes(checkpoint(), bytes);
    },
    async store(index: number, chunk: Bytes, signal: AbortSignal): Promise<void> {
      const isNew = await writing.run(async () => {
        // The stored bytes are those that are hashed.
        if (has(index)) return false;
        await writer.write(chunk, index * CHUNK_BYTES);
        stored.add(index);
        starts.delete(index);
        return true;
      });
      if (!isNew) return;
      // A chunk after those being hashed is read back when its turn comes.
      if (hash.next === index) await hashStored(signal, { index, bytes: chunk });
      if (chunkCount === 1) return;
      await writer.flush();
      await saving.run(saveCheckpoint);
    },
    /** Stores the first bytes of a chunk whose connection broke. */
    async storeStart(index: number, start: Bytes): Promise<void> {
      await writing.run(async () => {
        if (start.length <= storedOf(index)) return;
        await writer.write(start, index * CHUNK_BYTES);
        starts.set(index, start.length);
      });
      await writer.flush();
      await saving.run(saveCheckpoint);
    },
    /** Reads the stored bytes of a chunk. */
    readStart: (index: number): Promise<Bytes> => writer.read(index * CHUNK_BYTES, storedOf(index)),
    /** Returns the file's digest, once all chunks are stored and hashed. */
    digest: (): Promise<Digest> => hash.digest(),
    /** Closes the file. Stored chunks remain, so that it can be resumed. */
    async close(): Promise<void> {
      const last = async () => stored.size < chunkCount && saveCheckpoint();
      try {
        await writer.close();
        await saving.run(last).catch(() => undefined);
      } finally {
        // Also if the first fails, as in a full storage: an open file can be opened by nobody else.
        await checkpointWriter?.close();
      }
    },
  };
  return partial;
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
  const partial = await openPartial(backend, sha256, bytes);
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
