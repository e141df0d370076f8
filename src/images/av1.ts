import type { ImageSize } from './image-size.ts';

const SEQUENCE_HEADER = 1;
/** Number of parts that a sequence header counts as, because it takes long to read. */
const SEQUENCE_HEADER_PARTS = 50;

/** Adds the sizes of all sequence headers in a run of AV1 units (OBUs). Other data ends the run. */
export function addSequenceHeaders(bytes: Uint8Array, size: ImageSize): void {
  let at = 0;
  while (at < bytes.length) {
    size.count();
    const head = bytes[at++] ?? 0;
    if (head & 0x80) return;
    if (head & 4) at++;
    let length = bytes.length - at;
    if (head & 2) {
      let coded = 0;
      for (let byte = 0, more = true; more && byte < 8; byte++) {
        const value = bytes[at++] ?? 0;
        coded += (value & 127) * 2 ** (7 * byte);
        more = value > 127;
      }
      length = Math.min(length, coded);
    }
    if (((head >> 3) & 15) === SEQUENCE_HEADER) addSequenceHeader(bytes.subarray(at, at + length), size);
    at += length;
  }
}

/** Reads bits in AV1's order. Past the end they are zero. */
class Bits {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  read(count: number): number {
    let value = 0;
    for (let bit = 0; bit < count; bit++, this.#at++)
      value = value * 2 + (((this.#bytes[this.#at >> 3] ?? 0) >> (7 - (this.#at & 7))) & 1);
    return value;
  }

  flag(): boolean {
    return this.read(1) === 1;
  }

  /** Skips a variable-length number (`uvlc`): n zeros, a one, and n bits. */
  skipVariable(): void {
    let zeros = 0;
    while (zeros < 32 && !this.flag()) zeros++;
    this.read(zeros);
  }
}

/** Reads a sequence header (section 5.5 of the AV1 specification) up to the maximum frame size. */
function addSequenceHeader(bytes: Uint8Array, size: ImageSize): void {
  size.count(SEQUENCE_HEADER_PARTS);
  const bits = new Bits(bytes);
  // Profile and still-picture flag.
  bits.read(4);
  const isReduced = bits.flag();
  if (isReduced) bits.read(5);
  else skipOperatingPoints(bits);
  const widthBits = 1 + bits.read(4);
  const heightBits = 1 + bits.read(4);
  size.add(1 + bits.read(widthBits), 1 + bits.read(heightBits));
}

function skipOperatingPoints(bits: Bits): void {
  let delayBits = 0;
  // Timing information, which includes the decoder model.
  if (bits.flag()) {
    bits.read(64);
    if (bits.flag()) bits.skipVariable();
    if (bits.flag()) {
      delayBits = 1 + bits.read(5);
      bits.read(42);
    }
  }
  const hasDisplayDelay = bits.flag();
  for (let points = 1 + bits.read(5); points > 0; points--) {
    bits.read(12);
    // The tier follows a level above 7.
    if (bits.read(5) > 7) bits.read(1);
    if (delayBits > 0 && bits.flag()) bits.read(2 * delayBits + 1);
    if (hasDisplayDelay && bits.flag()) bits.read(4);
  }
}
