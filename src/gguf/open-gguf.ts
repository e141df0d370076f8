import { type ByteCursor, type FileStart, readHeader, startOfBlob } from './byte-cursor.ts';
import { type Gguf, readGguf } from './read-gguf.ts';

/** A file's header, and a cursor for its lists. */
export interface OpenGguf {
  header: Gguf;
  cursor: ByteCursor;
}

const opened = new WeakMap<Blob, Promise<OpenGguf>>();

/** Reads a file's header, once for all that ask for it during a load: a vocabulary takes 40 ms. @throws FormatError */
export function openGguf(file: Blob): Promise<OpenGguf> {
  const known = opened.get(file) ?? openStart(startOfBlob(file));
  opened.set(file, known);
  return known;
}

/** Reads a header that is not kept. @throws FormatError */
export const openStart = (file: FileStart): Promise<OpenGguf> => readHeader(file, open);

function open(cursor: ByteCursor): OpenGguf {
  const header = readGguf(cursor);
  // The parser skips lists. The cursor needs the bytes of the last one, too.
  cursor.position = header.tensorsAt - 1;
  cursor.unsigned(1);
  return { header, cursor };
}

/** Frees the header's bytes. */
export function closeGguf(file: Blob): void {
  opened.delete(file);
}
