/** A file is not what its name says; the message follows the file's name. */
export class Fault extends Error {}

/** The part of the file that was read ends before the head does. */
export class EndOfHead extends Error {
  readonly needed: number;

  constructor(needed: number) {
    super('the head goes on');
    this.needed = needed;
  }
}

/** Reads the head of a file of `size` bytes off its first ones. Little-endian. Whatever it says of itself may be a lie. */
export class Head {
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

  /** Beyond 2^53 not exact: too large for anything here in any case. */
  u64(): number {
    const at = this.#take(8);
    return Number(this.#view.getBigUint64(at, true));
  }

  /** A number of things of which each takes a byte at least. */
  count(what: string): number {
    const count = this.u64();
    if (count > this.size) throw new Fault(`gives ${count} as the ${what}, and has ${this.size} bytes`);
    return count;
  }

  text(length: number): string {
    const at = this.#take(length);
    return new TextDecoder().decode(this.#bytes.subarray(at, at + length));
  }

  skip(bytes: number): void {
    this.position += bytes;
    if (this.position > this.size) throw new Fault(`ends within its head, after ${this.size} bytes`);
  }

  #take(bytes: number): number {
    const at = this.position;
    this.skip(bytes);
    if (this.position > this.#bytes.length) throw new EndOfHead(this.position);
    return at;
  }
}
