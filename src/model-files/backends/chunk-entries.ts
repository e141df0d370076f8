import { CHUNK_BYTES, type BackendWriter } from './storage-backend.ts';

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
