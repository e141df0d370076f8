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

/** Replaces a small file. */
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
