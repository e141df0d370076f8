import { printable } from '../../util/printable.ts';

const MAX_MESSAGE_CHARACTERS = 400;

/** A malformed file. The message is a phrase that follows the file's name, and may have texts of the file in it. */
export class FormatError extends Error {
  constructor(message: string) {
    super(printable(message, MAX_MESSAGE_CHARACTERS));
  }
}

/** The bytes that were read end before the header does. */
class NeedMoreBytes extends Error {
  readonly needed: number;

  constructor(needed: number) {
    super(`the header needs ${needed} bytes`);
    this.needed = needed;
  }
}

/** Reads the header of a file of `size` bytes from its first bytes. Little-endian. No value in it is trusted. */
export class ByteCursor {
  readonly size: number;
  position = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array, size: number) {
    this.size = size;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u32(): number {
    const at = this.#take(4);
    return this.#view.getUint32(at, true);
  }

  f32(): number {
    const at = this.#take(4);
    return this.#view.getFloat32(at, true);
  }

  f64(): number {
    const at = this.#take(8);
    return this.#view.getFloat64(at, true);
  }

  /** Number of 8 bytes; inexact above 2^53, which exceeds every valid value here. */
  u64(): number {
    const at = this.#take(8);
    // Several times as fast as a BigInt: a vocabulary has a length before each text.
    return this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32;
  }

  /** An unsigned number of 1, 2, 4 or 8 bytes. */
  unsigned(bytes: number): number {
    if (bytes === 8) return this.u64();
    const at = this.#take(bytes);
    if (bytes === 4) return this.#view.getUint32(at, true);
    return bytes === 2 ? this.#view.getUint16(at, true) : this.#view.getUint8(at);
  }

  /** The number of items that take at least one byte each. */
  count(what: string): number {
    const count = this.u64();
    if (count > this.size) throw new FormatError(`gives ${count} as the ${what}, and has ${this.size} bytes`);
    return count;
  }

  text(length: number): string {
    const at = this.#take(length);
    return new TextDecoder().decode(this.#bytes.subarray(at, at + length));
  }

  skip(bytes: number): void {
    this.position += bytes;
    if (this.position > this.size) throw new FormatError(`ends within its header, after ${this.size} bytes`);
  }

  #take(bytes: number): number {
    const at = this.position;
    this.skip(bytes);
    if (this.position > this.#bytes.length) throw new NeedMoreBytes(this.position);
    return at;
  }
}

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
