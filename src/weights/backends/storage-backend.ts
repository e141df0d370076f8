import type { z } from 'zod';

import { delay, serverError, sha256, type ServiceError } from '#base';

/** A flat store of blobs by name. Which of them are complete is up to the weight store's integrity records. */
export interface StorageBackend {
  readonly kind: 'opfs' | 'cache' | 'memory';
  /** Reads a blob; null if there is none. A partial file is returned with its gaps, or up to the first gap. */
  read(name: string): Promise<Blob | null>;
  /** Opens a blob for writing and keeps its contents. At most one writer per name at a time. */
  write(name: string): Promise<BackendWriter>;
  remove(name: string): Promise<void>;
  /** Lists the names that begin with `prefix`. */
  names(prefix: string): Promise<string[]>;
  /** Number of bytes that can still be written; null if unknown. */
  free(): Promise<number | null>;
}

/** Size of the chunks in which files are read and written. The last chunk of a file may be shorter. */
export const CHUNK_BYTES = 4 * 2 ** 20;

/** Reads a chunk of a complete file. */
export async function readChunk(blob: Blob, index: number): Promise<Uint8Array<ArrayBuffer>> {
  const from = index * CHUNK_BYTES;
  return new Uint8Array(await blob.slice(from, from + CHUNK_BYTES).arrayBuffer());
}

export interface BackendWriter {
  /** Writes one chunk, or its first bytes. */
  write(bytes: Uint8Array<ArrayBuffer>, at: number): Promise<void>;
  /** Reads a stored chunk, or its first bytes. */
  read(at: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Sets the file's final size: allocates missing bytes, so that a full storage fails before the
   * download, and truncates excess bytes.
   * @throws QuotaExceededError
   */
  resize(bytes: number): Promise<void>;
  /** Resolves once the written bytes survive the end of this worker. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const READ_TRIES = 5;
const READ_PAUSE_MS = 20;

/**
 * Reads a small JSON file; null if there is none, or if it is damaged. While another thread replaces the file, it may be
 * truncated or unreadable, so it is read again.
 * @throws ServiceError `storage_failed` if it cannot be read, which tells nothing about its contents
 */
export async function readSmallFile(backend: Pick<StorageBackend, 'read'>, name: string): Promise<unknown> {
  for (let tries = 1; ; tries++) {
    try {
      const text = await (await backend.read(name))?.text();
      return text === undefined ? null : JSON.parse(text.replace(/\n[^]*/, ''));
    } catch (error) {
      if (tries === READ_TRIES && error instanceof SyntaxError) return null;
      if (tries === READ_TRIES) throw cannotRead(name, error);
      await delay(READ_PAUSE_MS);
    }
  }
}

export function cannotRead(path: string, error: unknown): ServiceError {
  const message = `The browser could not read the stored file ${path}. It is kept. Free memory by closing other tabs, and try again.`;
  return serverError('storage_failed', message, error);
}

export const cleared = (): ServiceError =>
  serverError('storage_failed', "This site's storage was cleared while the model was stored. Try again.");

/** Checks the contents of a small file; null if they are invalid. */
export const parseStored = <T>(contents: unknown, schema: z.ZodType<T>): T | null =>
  schema.safeParse(contents).data ?? null;

/** Replaces a small file. */
export async function replace(backend: StorageBackend, name: string, text: string): Promise<void> {
  const writer = await backend.write(name);
  try {
    await overwrite(writer, text);
  } catch (error) {
    await writer.close().catch(() => undefined);
    // An empty file must not count as the complete file.
    if ((await backend.read(name))?.size === 0) await backend.remove(name);
    throw error;
  }
  await writer.close();
}

/** Writes one line. What is left of a longer one, if the thread ends before it is cut off, follows the line's end. */
export async function overwrite(writer: BackendWriter, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(`${text}\n`);
  await writer.write(bytes, 0);
  await writer.resize(bytes.length);
  await writer.flush();
}

/** Store of chunks as separate entries, for backends without files. Entries are written atomically and never extended. */
export interface ChunkEntries {
  get(name: string, at: number): Promise<Blob | undefined>;
  put(name: string, at: number, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

/** Concatenates the chunks up to the first gap, or incomplete chunk, to one blob, without copying them. */
export async function readEntries(entries: Pick<ChunkEntries, 'get'>, name: string): Promise<Blob | null> {
  const parts: Blob[] = [];
  let chunk: Blob | undefined;
  do {
    chunk = await entries.get(name, parts.length * CHUNK_BYTES);
    if (chunk) parts.push(chunk);
  } while (chunk?.size === CHUNK_BYTES);
  return parts.length > 0 ? new Blob(parts) : null;
}

export const entryWriter = (entries: ChunkEntries, name: string): BackendWriter => ({
  write: (bytes, at) => entries.put(name, at, bytes),
  read: async (at) =>
    new Uint8Array((await (await entries.get(name, at))?.arrayBuffer()) ?? new ArrayBuffer(0)),
  // Nothing to allocate: a new chunk replaces the old one.
  resize: async () => undefined,
  flush: async () => undefined,
  close: async () => undefined,
});

/** Name of the integrity record of a file. */
export const recordName = (hash: string): string => `${hash}.json`;

/** Name of an app's claim on a file, without the app's suffix. */
export const claimName = (hash: string): string => `${hash}.claim`;

/** Note of an app that names its stored files. */
export const INDEX = 'usage';

/** Name under which an app's note is stored. Apps of one origin share files, but not notes. */
export const noteOf = async (scope: string, name: string): Promise<string> =>
  scope === '/' ? name : `${name}@${(await sha256(new TextEncoder().encode(scope))).slice(0, 16)}`;
