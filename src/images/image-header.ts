/**
 * Reads the header of an image file before anything is decoded. The size is what a decoder may allocate: the
 * maximum of the canvas and of all frames. Null if the file has another type, or no size.
 */
export function readImageHeader(file: Uint8Array): ImageHeader | null {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  try {
    const header = readers.reduce<ImageHeader | null>((found, read) => found ?? read(view), null);
    return header && header.width > 0 && header.height > 0 ? header : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Converts the four letters of a chunk's type to a number. */
const code = (letters: string): number =>
  letters.split('').reduce((value, letter) => value * 256 + letter.charCodeAt(0), 0);

const IHDR = code('IHDR');
/** Frame of an animation. */
const FCTL = code('fcTL');
const IEND = code('IEND');

const png: ImageReader = (view) => {
  if (textAt(view, 0, 8) !== '\x89PNG\r\n\x1a\n') return null;
  const size = new ImageSize();
  size.add(view.getUint32(16), view.getUint32(20));
  let at = 8;
  for (; at + 12 <= view.byteLength; at += 12 + view.getUint32(at)) {
    const type = view.getUint32(at + 4);
    if (type === IEND) break;
    if (type === IHDR) size.add(view.getUint32(at + 8), view.getUint32(at + 12));
    if (type === FCTL) size.add(view.getUint32(at + 12), view.getUint32(at + 16));
  }
  return { type: 'image/png', ...size.largest, whole: at + 12 <= view.byteLength };
};

const START_OF_SCAN = 0xda;
/** Whether a marker starts a frame. Tables and arithmetic coding have markers in the same range. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** Whether a marker has no length. Such markers are not allowed before a scan; decoders continue right after them. */
const hasNoLength = (marker: number): boolean => marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd9);

const jpeg: ImageReader = (view) => {
  if (view.getUint16(0) !== 0xffd8) return null;
  const size = new ImageSize();
  let at = 2;
  for (let marker = 0; marker !== START_OF_SCAN; at += 2 + view.getUint16(at + 2)) {
    while (view.getUint16(at) === 0xffff) at++;
    marker = view.getUint8(at + 1);
    if (view.getUint8(at) !== 0xff || hasNoLength(marker)) return null;
    if (isFrame(marker)) size.add(view.getUint16(at + 7), view.getUint16(at + 5));
  }
  const { scans, whole } = readScans(view, at);
  return { type: 'image/jpeg', ...size.largest, whole, ...(scans > MAX_SCANS && { fault: TOO_MANY_SCANS }) };
};

/** Maximum number of scans. A progressive image has about ten, and each scan covers all pixels. */
const MAX_SCANS = 100;
const TOO_MANY_SCANS = `is a JPEG of more than ${MAX_SCANS} scans, the most that an image may have. Save it with fewer, or as PNG`;

/**
 * Counts scans up to the limit, and looks for the end marker. In the data of scans, 0xff is followed by 0, except in
 * markers.
 */
function readScans(
  { buffer, byteOffset, byteLength }: DataView,
  from: number,
): { scans: number; whole: boolean } {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  let scans = 1;
  for (let at = bytes.indexOf(0xff, from); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    if (bytes[at + 1] === 0xd9) return { scans, whole: true };
    if (bytes[at + 1] === START_OF_SCAN && ++scans > MAX_SCANS) break;
  }
  return { scans, whole: false };
}

const EXTENSION = 0x21;
const FRAME = 0x2c;
const colorTable = (flags: number): number => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);

/** Reads GIF. It counts as whole if its first frame is complete. Decoders enlarge the canvas to frames that exceed it. */
const gif: ImageReader = (view) => {
  if (!/^GIF8[79]a$/.test(textAt(view, 0, 6))) return null;
  const u16 = (at: number): number => view.getUint16(at, true);
  const size = new ImageSize();
  size.add(u16(6), u16(8));
  let whole = false;
  let at = 13 + colorTable(view.getUint8(10));
  while (at < view.byteLength) {
    const block = view.getUint8(at);
    if (block === FRAME && at + 10 <= view.byteLength) {
      size.add(u16(at + 1) + u16(at + 5), u16(at + 3) + u16(at + 7));
      at += 11 + colorTable(view.getUint8(at + 9));
    } else if (block === EXTENSION) at += 2;
    else break;
    while (at < view.byteLength && view.getUint8(at) > 0) at += 1 + view.getUint8(at);
    at++;
    whole ||= block === FRAME && at <= view.byteLength;
  }
  return { type: 'image/gif', ...size.largest, whole };
};

const webp: ImageReader = (view) => {
  if (textAt(view, 0, 4) !== 'RIFF' || textAt(view, 8, 4) !== 'WEBP') return null;
  const size = new ImageSize();
  addWebpChunks(view, 12, size);
  return { type: 'image/webp', ...size.largest, whole: view.getUint32(4, true) + 8 <= view.byteLength };
};

/** Length of a frame's header in an animation: position, size and duration. The chunks of its image follow. */
const FRAME_HEAD = 16;

function addWebpChunks(view: DataView, from: number, size: ImageSize): void {
  const u24 = (at: number): number => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  for (let at = from; at + 8 <= view.byteLength;) {
    size.count();
    const length = view.getUint32(at + 4, true);
    const start = at + 8;
    switch (textAt(view, at, 4)) {
      case 'VP8X':
        size.add(1 + u24(start + 4), 1 + u24(start + 7));
        break;
      case 'ANMF':
        size.add(2 * u24(start) + 1 + u24(start + 6), 2 * u24(start + 3) + 1 + u24(start + 9));
        // Continue with the chunks of the frame's image.
        at = start + FRAME_HEAD;
        continue;
      case 'VP8L': {
        const bits = view.getUint32(start + 1, true);
        size.add(1 + (bits & 0x3fff), 1 + ((bits >> 14) & 0x3fff));
        break;
      }
      case 'VP8 ':
        size.add(view.getUint16(start + 6, true) & 0x3fff, view.getUint16(start + 8, true) & 0x3fff);
    }
    at = start + length + (length & 1);
  }
}

const readers: ImageReader[] = [png, jpeg, gif, webp];

export interface ImageHeader {
  type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  width: number;
  height: number;
  /** Whether the file is complete, judging by its structure. */
  whole: boolean;
  /** Why the image must not be decoded, as a phrase that follows its name. */
  fault?: string;
}

/** Reads a header; null if the file has another type. @throws RangeError if the file is truncated */
export type ImageReader = (view: DataView) => ImageHeader | null;

/** Maximum number of chunks and frames. An image has a few, an animation some thousands. */
const MAX_PARTS = 100_000;

/** Tracks the maximum width and the maximum height of an image's parts. */
class ImageSize {
  readonly largest = { width: 0, height: 0 };
  #parts = 0;

  /** Adds a part's size. @throws RangeError if there are too many parts */
  add(width: number, height: number): void {
    this.count();
    this.largest.width = Math.max(this.largest.width, width);
    this.largest.height = Math.max(this.largest.height, height);
  }

  /** Counts a part. @throws RangeError if there are too many parts */
  count(): void {
    this.#parts++;
    if (this.#parts > MAX_PARTS) throw new RangeError('more parts than an image has');
  }
}

/** Reads text at a position; shorter if the file ends. */
const textAt = (view: DataView, at: number, length: number): string =>
  String.fromCharCode(
    ...new Uint8Array(view.buffer, view.byteOffset, view.byteLength).subarray(at, at + length),
  );
