import { delay } from '../../util/async.ts';
import { sha256 } from '../../util/sha256.ts';

/** A flat store of blobs by name. Only the weight store knows which of them are complete, by their integrity records. */
export interface StorageBackend {
  readonly kind: 'opfs' | 'cache' | 'memory';
  /** The bytes under that name; of an unfinished file with gaps, or up to the first one. null: nothing. */
  read(name: string): Promise<Blob | null>;
  /** Opens for writing and keeps what is stored. One writer a name at a time. */
  write(name: string): Promise<BackendWriter>;
  remove(name: string): Promise<void>;
  /** Bytes that may still be written; null: unknown. */
  free(): Promise<number | null>;
}

/** Files are read and written in chunks of this size, except for the last one. Each begins at a multiple of it. */
export const CHUNK_BYTES = 4 * 2 ** 20;

/** A chunk of a complete file. */
export async function readChunk(blob: Blob, index: number): Promise<Uint8Array<ArrayBuffer>> {
  const from = index * CHUNK_BYTES;
  return new Uint8Array(await blob.slice(from, from + CHUNK_BYTES).arrayBuffer());
}

export interface BackendWriter {
  /** Writes one chunk. */
  write(bytes: Uint8Array<ArrayBuffer>, at: number): Promise<void>;
  /** Reads a stored chunk. */
  read(at: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Gives the file its final size: reserves what is missing, so that a full storage shows before the download, and cuts
   * off what lies beyond. @throws QuotaExceededError
   */
  resize(bytes: number): Promise<void>;
  /** Resolves once the written bytes survive the end of this worker. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const READ_TRIES = 5;
const READ_PAUSE_MS = 20;

/**
 * The text of a small JSON file; null: none, or unreadable. While another thread replaces the file, its text is cut off or
 * the browser refuses to read it: it is read again until it is JSON.
 */
export async function readSmallFile(
  backend: Pick<StorageBackend, 'read'>,
  name: string,
): Promise<string | null> {
  for (let tries = 1; ; tries++) {
    const text = (await (await backend.read(name))?.text().catch(() => '')) ?? null;
    if (text === null || isJson(text) || tries === READ_TRIES) return text || null;
    await delay(READ_PAUSE_MS);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Replaces a small file. */
export async function replace(backend: StorageBackend, name: string, text: string): Promise<void> {
  const writer = await backend.write(name);
  try {
    await overwrite(writer, text);
  } catch (error) {
    await writer.close().catch(() => undefined);
    // An empty file would pass for the complete one.
    if ((await backend.read(name))?.size === 0) await backend.remove(name);
    throw error;
  }
  await writer.close();
}

export async function overwrite(writer: BackendWriter, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  await writer.write(bytes, 0);
  await writer.resize(bytes.length);
  await writer.flush();
}

/** Files whose chunks are separate entries: an entry is stored completely or not at all, and is never extended. */
export interface ChunkEntries {
  get(name: string, at: number): Promise<Blob | undefined>;
  put(name: string, at: number, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

/** The chunks up to the first gap as one blob, without a copy. */
export async function readEntries(entries: Pick<ChunkEntries, 'get'>, name: string): Promise<Blob | null> {
  const parts: Blob[] = [];
  for (
    let chunk = await entries.get(name, 0);
    chunk;
    chunk = await entries.get(name, parts.length * CHUNK_BYTES)
  ) {
    parts.push(chunk);
  }
  return parts.length > 0 ? new Blob(parts) : null;
}

export const entryWriter = (entries: ChunkEntries, name: string): BackendWriter => ({
  write: (bytes, at) => entries.put(name, at, bytes),
  read: async (at) =>
    new Uint8Array((await (await entries.get(name, at))?.arrayBuffer()) ?? new ArrayBuffer(0)),
  // A new chunk replaces the old one.
  resize: async () => undefined,
  flush: async () => undefined,
  close: async () => undefined,
});

/** Record under `pathNote`: the stored file that lies at a path of the models folder. */
export interface StoredPath {
  sha256: string;
  bytes: number;
}

/** Name of the note that leads from an app's path to its bytes; beside it, a record says that they are whole. */
export async function pathNote(scope: string, path: string): Promise<string> {
  return `path-${await hashText(scope === '/' ? path : `${scope}\n${path}`)}`;
}

/** Apps of one origin share the files, not what each one remembers of its models. */
export async function noteOf(scope: string, name: string): Promise<string> {
  return scope === '/' ? name : `${name}@${(await hashText(scope)).slice(0, 16)}`;
}

const hashText = (text: string): Promise<string> => sha256(new TextEncoder().encode(text));
