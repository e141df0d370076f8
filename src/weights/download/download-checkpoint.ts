import { overwrite, PIECE_BYTES, type Shelf, type ShelfWriter } from '../backends/storage-backend.ts';

/** What is known of a download that has not ended: kept beside its bytes, to go on from. */
export interface PartRecord {
  /** The file's version on the server (ETag, else Last-Modified), where it told one. */
  version: string | null;
  /** Numbers of the pieces that are on the shelf. */
  pieces: number[];
}

export const partName = (name: string): string => `${name}.part`;

/** null: none, or none that can be trusted. */
export async function readPart(shelf: Shelf, name: string, pieces: number): Promise<PartRecord | null> {
  const text = await (await shelf.read(partName(name)))?.text();
  try {
    const record = JSON.parse(text ?? '') as Partial<PartRecord> | null;
    const isPiece = (index: unknown): boolean =>
      Number.isInteger(index) && Number(index) >= 0 && Number(index) < pieces;
    if (!Array.isArray(record?.pieces) || !record.pieces.every(isPiece)) return null;
    return { version: typeof record.version === 'string' ? record.version : null, pieces: record.pieces };
  } catch {
    return null;
  }
}

/** @param writer of the file `partName` */
export async function keepPart(writer: ShelfWriter, record: PartRecord): Promise<void> {
  await overwrite(writer, JSON.stringify(record));
}

/** Bytes of a file that are here already, about. */
export async function partBytes(shelf: Shelf, name: string, bytes: number): Promise<number> {
  const record = await readPart(shelf, name, Math.ceil(bytes / PIECE_BYTES));
  return Math.min(bytes, (record?.pieces.length ?? 0) * PIECE_BYTES);
}
