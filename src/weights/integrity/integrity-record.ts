import { PIECE_BYTES, readPiece } from '../backends/storage-backend.ts';
import { sha256 } from './sha256.ts';

/** The integrity record of a file, as JSON: it lies beside a file that is whole. */
export interface Receipt {
  /** Of the file, and its name in the store: a record under another name is not believed. */
  sha256: string;
  path: string;
  bytes: number;
  /** SHA-256 of each piece, taken of the very bytes whose hash as a whole was right. Hex. */
  pieces: string[];
}

export const receiptName = (hash: string): string => `${hash}.json`;

/** null: none that tells of the pieces of the file with this hash. */
export function readReceipt(text: string | null, hash: string): Receipt | null {
  try {
    const receipt = JSON.parse(text ?? '') as Partial<Receipt> | null;
    const { path, bytes, pieces } = receipt ?? {};
    if (receipt?.sha256 !== hash) return null;
    if (typeof path !== 'string' || typeof bytes !== 'number' || !Array.isArray(pieces)) return null;
    return pieces.length === Math.ceil(bytes / PIECE_BYTES) ? { sha256: hash, path, bytes, pieces } : null;
  } catch {
    return null;
  }
}

/**
 * Numbers of the pieces whose bytes are still those that the record was written for; one that cannot be read is not.
 * WebCrypto hashes them, so the thread is hardly kept by it.
 */
export async function intactPieces(blob: Blob, { pieces }: Receipt): Promise<number[]> {
  const intact: number[] = [];
  for (const [index, piece] of pieces.entries()) {
    const bytes = await readPiece(blob, index).catch(() => null);
    if (bytes && (await sha256(bytes)) === piece) intact.push(index);
  }
  return intact;
}
