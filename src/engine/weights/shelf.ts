/**
 * Where weight files lie: a flat place of blobs by name. A file is on it whole or in part; only the store knows
 * which, by the receipt that it puts beside a whole one.
 */
export interface Shelf {
  readonly kind: 'opfs' | 'cache' | 'memory';
  /** What is there under that name, whole or not; null: nothing. */
  read(name: string): Promise<Blob | null>;
  /** Opens for writing from byte `start` on; what lay behind it is dropped. */
  write(name: string, start: number): Promise<ShelfWriter>;
  remove(name: string): Promise<void>;
  /** Bytes that may still be written; null: unknown. */
  free(): Promise<number | null>;
}

export interface ShelfWriter {
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Keeps what was written, also when it is only a part. */
  close(): Promise<void>;
}

export async function freeBytes(): Promise<number | null> {
  try {
    const { quota, usage } = await navigator.storage.estimate();
    return quota === undefined ? null : quota - (usage ?? 0);
  } catch {
    return null;
  }
}
