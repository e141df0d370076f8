import { PIECE_BYTES, readPiece } from './shelf.ts';
import { sha256 } from './sha256.ts';

/** Lies beside a file that is whole, as JSON. */
export interface Receipt {
  path: string;
  bytes: number;
  /** SHA-256 of each piece, taken of the very bytes whose hash as a whole was right. Hex. */
  pieces: string[];
}

export const receiptName = (hash: string): string => `${hash}.json`;

/** null: none that tells of the pieces. */
export function readReceipt(text: string | null): Receipt | null {
  try {
    const receipt = JSON.parse(text ?? '') as Partial<Receipt> | null;
    const { path, bytes, pieces } = receipt ?? {};
    if (typeof path !== 'string' || typeof bytes !== 'number' || !Array.isArray(pieces)) return null;
    return pieces.length === Math.ceil(bytes / PIECE_BYTES) ? { path, bytes, pieces } : null;
  } catch {
    return null;
  }
}

/** Whether the bytes are still those that the receipt was written for; the thread is hardly kept by it. */
export async function isIntact(blob: Blob, { bytes, pieces }: Receipt): Promise<boolean> {
  if (blob.size !== bytes) return false;
  for (const [index, piece] of pieces.entries()) {
    if ((await sha256(await readPiece(blob, index))) !== piece) return false;
  }
  return true;
}
