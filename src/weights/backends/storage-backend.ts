/**
 * Where weight files lie: a flat place of blobs by name. A file is on it whole or in part; only the store knows
 * which, by the record that it puts beside a whole one.
 */
export interface StorageBackend {
  readonly kind: 'opfs' | 'cache' | 'memory';
  /** What is there under that name; of a part, with gaps or up to the first one. null: nothing. */
  read(name: string): Promise<Blob | null>;
  /** Opens for writing; what is there stays. One writer a name at a time. */
  write(name: string): Promise<BackendWriter>;
  remove(name: string): Promise<void>;
  names(): Promise<string[]>;
  /** Bytes that may still be written; null: unknown. */
  free(): Promise<number | null>;
}

/** Bytes come and go in chunks of this size, the last one of a file excepted; each begins at a multiple of it. */
export const CHUNK_BYTES = 4 * 2 ** 20;

/** A chunk of a file that is whole. */
export async function readChunk(blob: Blob, index: number): Promise<Uint8Array<ArrayBuffer>> {
  const from = index * CHUNK_BYTES;
  return new Uint8Array(await blob.slice(from, from + CHUNK_BYTES).arrayBuffer());
}

export interface BackendWriter {
  /** One chunk. */
  write(bytes: Uint8Array<ArrayBuffer>, at: number): Promise<void>;
  /** A chunk that is there. */
  read(at: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Gives the file its size, where there are files: room for what is to come, which is refused now rather than when half
   * of it has come; and what lies beyond is dropped. @throws QuotaExceededError
   */
  resize(bytes: number): Promise<void>;
  /** Resolves once what was written survives the end of this worker. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Puts a small file in place of what was there. */
export async function replace(backend: StorageBackend, name: string, text: string): Promise<void> {
  const writer = await backend.write(name);
  try {
    await overwrite(writer, text);
  } catch (error) {
    await writer.close().catch(() => undefined);
    // An empty file would be taken for the real one.
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

export async function freeBytes(): Promise<number | null> {
  try {
    const { quota, usage } = await navigator.storage.estimate();
    return quota === undefined ? null : quota - (usage ?? 0);
  } catch {
    return null;
  }
}
