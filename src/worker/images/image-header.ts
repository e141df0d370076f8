export interface ImageHeader {
  type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp' | 'image/avif';
  width: number;
  height: number;
  /** The file goes on to its end, as far as its structure tells. */
  whole: boolean;
}

/** What an image file says of itself: read before anything is decoded. Null: it is none of these types, or has no size. */
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

type Reader = (view: DataView) => ImageHeader | null;

/** Characters at a place; fewer where the file ends. */
const text = (view: DataView, at: number, length: number): string =>
  String.fromCharCode(
    ...new Uint8Array(view.buffer, view.byteOffset, view.byteLength).subarray(at, at + length),
  );

const png: Reader = (view) => {
  if (text(view, 0, 8) !== '\x89PNG\r\n\x1a\n') return null;
  const size = { width: view.getUint32(16), height: view.getUint32(20) };
  let at = 8;
  while (at + 12 <= view.byteLength && text(view, at + 4, 4) !== 'IEND') at += 12 + view.getUint32(at);
  return { type: 'image/png', ...size, whole: at + 12 <= view.byteLength };
};

const START_OF_SCAN = 0xda;
/** Frames, but for the tables and the arithmetic coding's that share their range. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

const jpeg: Reader = (view) => {
  if (view.getUint16(0) !== 0xffd8) return null;
  let size = { width: 0, height: 0 };
  let at = 2;
  for (let marker = 0; marker !== START_OF_SCAN; at += 2 + view.getUint16(at + 2)) {
    while (view.getUint16(at) === 0xffff) at++;
    marker = view.getUint8(at + 1);
    if (view.getUint8(at) !== 0xff) return null;
    if (isFrame(marker)) size = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
  }
  return { type: 'image/jpeg', ...size, whole: hasEnd(view, at) };
};

/** Between the scans' data, 0xff is followed by 0, but for markers. */
function hasEnd(view: DataView, from: number): boolean {
  for (let at = view.byteLength - 2; at >= from; at--) if (view.getUint16(at) === 0xffd9) return true;
  return false;
}

const gif: Reader = (view) => {
  if (!/^GIF8[79]a$/.test(text(view, 0, 6))) return null;
  const size = { width: view.getUint16(6, true), height: view.getUint16(8, true) };
  return { type: 'image/gif', ...size, whole: hasFrame(view) };
};

const colorTable = (flags: number): number => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);

/** Whether the first frame ends. */
function hasFrame(view: DataView): boolean {
  let at = 13 + colorTable(view.getUint8(10));
  while (at < view.byteLength) {
    const block = view.getUint8(at);
    if (block !== 0x21 && block !== 0x2c) return false;
    const isImage = block === 0x2c;
    at += isImage ? 11 + colorTable(view.getUint8(at + 9)) : 2;
    while (at < view.byteLength && view.getUint8(at) > 0) at += 1 + view.getUint8(at);
    at++;
    if (isImage) return at <= view.byteLength;
  }
  return false;
}

const webp: Reader = (view) => {
  if (text(view, 0, 4) !== 'RIFF' || text(view, 8, 4) !== 'WEBP') return null;
  const whole = view.getUint32(4, true) + 8 <= view.byteLength;
  const uint24 = (at: number): number => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  switch (text(view, 12, 4)) {
    case 'VP8X':
      return { type: 'image/webp', width: 1 + uint24(24), height: 1 + uint24(27), whole };
    case 'VP8L': {
      const bits = view.getUint32(21, true);
      return { type: 'image/webp', width: 1 + (bits & 0x3fff), height: 1 + ((bits >> 14) & 0x3fff), whole };
    }
    case 'VP8 ': {
      const side = (at: number): number => view.getUint16(at, true) & 0x3fff;
      return { type: 'image/webp', width: side(26), height: side(28), whole };
    }
    default:
      return null;
  }
};

/** The boxes that describe the images come first; the largest image is the one that is shown, or a tile of it. */
const AVIF_HEAD = 2 ** 16;

const avif: Reader = (view) => {
  if (text(view, 4, 4) !== 'ftyp' || !/avi[fs]/.test(text(view, 8, Math.min(view.getUint32(0), 256) - 8)))
    return null;
  const size = { width: 0, height: 0 };
  const head = text(view, 0, Math.min(AVIF_HEAD, view.byteLength));
  for (let at = head.indexOf('ispe'); at >= 0; at = head.indexOf('ispe', at + 4)) {
    size.width = Math.max(size.width, view.getUint32(at + 8));
    size.height = Math.max(size.height, view.getUint32(at + 12));
  }
  let end = 0;
  while (end + 8 <= view.byteLength && view.getUint32(end) > 1) end += view.getUint32(end);
  // A box of size 0 goes on to the end; one of size 1 has a longer size, and is taken as it is.
  const whole = end === view.byteLength || (end + 8 <= view.byteLength && view.getUint32(end) <= 1);
  return { type: 'image/avif', ...size, whole };
};

const readers: Reader[] = [png, jpeg, gif, webp, avif];
