import { ByteCursor, FormatError, NeedMoreBytes } from './byte-cursor.ts';

/** Enough for most headers: a vocabulary takes some megabytes. */
const FIRST_BYTES = 8 * 2 ** 20;
const MAX_HEADER_BYTES = 128 * 2 ** 20;

/** A file of which only the start is read. */
export interface FileStart {
  size: number;
  /** The first bytes, at most `length`. */
  read(length: number): Promise<Uint8Array>;
}

export const startOfBlob = (blob: Blob): FileStart => ({
  size: blob.size,
  read: async (length) => new Uint8Array(await blob.slice(0, length).arrayBuffer()),
});

/** Reads as much of a file as `parse` needs. @throws FormatError also when that is more than a header may have */
export async function readHeader<T>(file: FileStart, parse: (cursor: ByteCursor) => T): Promise<T> {
  for (let length = FIRST_BYTES; ;) {
    const bytes = await file.read(length);
    try {
      return parse(new ByteCursor(bytes, file.size));
    } catch (error) {
      if (!(error instanceof NeedMoreBytes)) throw error;
      const { needed } = error;
      if (bytes.length < Math.min(length, file.size)) throw new FormatError('could not be read to its end');
      if (needed > MAX_HEADER_BYTES)
        throw new FormatError(`has a header of more than ${MAX_HEADER_BYTES} bytes`);
      length = Math.max(needed, 2 * length);
    }
  }
}
