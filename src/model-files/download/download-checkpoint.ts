import { CHUNK_BYTES, type StorageBackend } from '../backends/storage-backend.ts';

/** The state of an unfinished download, kept beside its bytes so that it can be resumed. */
export interface DownloadCheckpoint {
  /** The file's version on the server (ETag, else Last-Modified); null: unknown. */
  version: string | null;
  /** Numbers of the chunks that are stored. */
  chunks: number[];
}

export const checkpointName = (name: string): string => `${name}.part`;

/** Stored as `pieces`, the name that earlier versions read and wrote. */
export const checkpointText = ({ version, chunks }: DownloadCheckpoint): string =>
  JSON.stringify({ version, pieces: chunks });

/** null: none, or an invalid one. */
export async function readCheckpoint(
  backend: StorageBackend,
  name: string,
  bytes: number,
): Promise<DownloadCheckpoint | null> {
  const text = await (await backend.read(checkpointName(name)))?.text();
  try {
    const { version, pieces } = Object(JSON.parse(text ?? '')) as Record<string, unknown>;
    const isChunk = (index: unknown): boolean =>
      Number.isInteger(index) && Number(index) >= 0 && Number(index) * CHUNK_BYTES < bytes;
    if (!Array.isArray(pieces) || !pieces.every(isChunk)) return null;
    return { version: typeof version === 'string' ? version : null, chunks: pieces as number[] };
  } catch {
    return null;
  }
}
