import { printable } from '#base';

const MAX_MESSAGE_CHARACTERS = 400;

/** Error for a malformed file. The message is a phrase that follows the file's name. Sanitized, as it may quote the file. */
export class FormatError extends Error {
  constructor(message: string) {
    super(printable(message, MAX_MESSAGE_CHARACTERS));
  }
}

/** Thrown if the header is longer than the bytes read so far. */
class NeedMoreBytes extends Error {
  readonly needed: number;

  constructor(needed: number) {
    super(`the header needs ${needed} bytes`);
    this.needed = needed;
  }
}

/** Reads the header of a file of `size` bytes from its first bytes. Little-endian. The header is not trusted. */
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
    return this.#view.getUint32(this.#take(4), true);
  }

  f32(): number {
    return this.#view.getFloat32(this.#take(4), true);
  }

  f64(): number {
    return this.#view.getFloat64(this.#take(8), true);
  }

  /** Unsigned number of 8 bytes. Inexact above 2^53, which no valid value exceeds. */
  u64(): number {
    const at = this.#take(8);
    // Several times faster than a BigInt, which matters for a vocabulary: it has a length before each text.
    return this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32;
  }

  /** Unsigned number of 1, 2, 4 or 8 bytes. */
  unsigned(bytes: number): number {
    if (bytes === 8) return this.u64();
    const at = this.#take(bytes);
    if (bytes === 4) return this.#view.getUint32(at, true);
    return bytes === 2 ? this.#view.getUint16(at, true) : this.#view.getUint8(at);
  }

  /** Number of items of at least one byte each. @throws FormatError if they cannot fit into the file */
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

/** Number of bytes to read first, enough for most headers: a vocabulary takes some megabytes. */
const FIRST_BYTES = 8 * 2 ** 20;
const MAX_HEADER_BYTES = 128 * 2 ** 20;

/** File whose start can be read. */
export interface FileStart {
  size: number;
  /** Reads at most the first `length` bytes. */
  read(length: number): Promise<Uint8Array>;
}

export const startOfBlob = (blob: Blob): FileStart => ({
  size: blob.size,
  read: async (length) => new Uint8Array(await blob.slice(0, length).arrayBuffer()),
});

/** Parses a header, and reads as much of the file as `parse` needs. @throws FormatError, also if the header is too long */
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
