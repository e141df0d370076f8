import { addSequenceHeaders } from './av1.ts';
import { ImageSize, type ImageReader, textAt } from './image-size.ts';

const MAX_DEPTH = 10;
/** Maximum number of chunks of a track's frames to read. */
const MAX_CHUNKS = 4096;
/** Number of copied bytes that count as one part. */
const COPIED_BYTES = 1024;

/** A box: its contents from `start` to `end`, without the header. */
interface Box {
  type: string;
  start: number;
  end: number;
  /** Whether the file contains the whole box. */
  whole: boolean;
}

function* boxes(view: DataView, from: number, to: number, size: ImageSize): Generator<Box, void, undefined> {
  for (let at = from; at + 8 <= to;) {
    size.count();
    const short = view.getUint32(at);
    const head = short === 1 ? 16 : 8;
    const length = short === 0 ? to - at : short === 1 ? Number(view.getBigUint64(at + 8)) : short;
    if (length < head) return;
    const end = at + length;
    yield { type: textAt(view, at + 4, 4), start: at + head, end: Math.min(end, to), whole: end <= to };
    at = end;
  }
}

/** Boxes that contain boxes, with the number of bytes before those. */
const CONTAINERS = new Map(
  Object.entries({
    iprp: 0,
    ipco: 0,
    moov: 0,
    trak: 0,
    mdia: 0,
    minf: 0,
    stbl: 0,
    meta: 4,
    stsd: 8,
    av01: 78,
  }),
);

/** Reads AVIF. The size includes that of the AV1 data, which decoders allocate before they compare it with the boxes. */
export const avif: ImageReader = (view) => {
  if (textAt(view, 4, 4) !== 'ftyp' || !/avi[fs]/.test(textAt(view, 8, Math.min(view.getUint32(0), 256) - 8)))
    return null;
  const size = new ImageSize();
  let last: Box | null = null;
  for (const box of boxes(view, 0, view.byteLength, size)) last = box;
  addBoxes(view, 0, view.byteLength, size);
  // Bytes after the last box are a truncated box.
  const whole = last !== null && last.whole && last.end === view.byteLength;
  return { type: 'image/avif', ...size.largest, whole };
};

function addBoxes(view: DataView, from: number, to: number, size: ImageSize, depth = 0): void {
  if (depth > MAX_DEPTH) throw new RangeError('more levels of boxes than an image has');
  for (const { type, start, end } of boxes(view, from, to, size)) {
    const before = CONTAINERS.get(type);
    switch (type) {
      case 'ispe':
        size.add(view.getUint32(start + 4), view.getUint32(start + 8));
        break;
      case 'av01':
        size.add(view.getUint16(start + 24), view.getUint16(start + 26));
        break;
      case 'tkhd':
        // Fixed-point numbers (16.16) at the end of the box.
        size.add(view.getUint16(end - 8), view.getUint16(end - 4));
        break;
      case 'av1C':
        addSequenceHeaders(bytesAt(view, start + 4, end), size);
        break;
      case 'stco':
      case 'co64':
        addSamples(view, start, type === 'stco' ? 4 : 8, size);
        break;
      case 'meta':
        addItems(view, start + 4, end, size);
    }
    if (before !== undefined) addBoxes(view, start + before, end, size, depth + 1);
  }
}

const bytesAt = (view: DataView, start: number, end: number): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength).subarray(start, end);

/** Adds the frames of a track. Its chunks follow one another to the end of the data. */
function addSamples(view: DataView, start: number, width: number, size: ImageSize): void {
  const count = view.getUint32(start + 4);
  for (let index = 0; index < Math.min(count, MAX_CHUNKS); index++) {
    size.count();
    const at = start + 8 + index * width;
    const offset = width === 4 ? view.getUint32(at) : Number(view.getBigUint64(at));
    addSequenceHeaders(bytesAt(view, offset, view.byteLength), size);
  }
}

/** Adds the images of a `meta` box: AV1 data, and grids of such images. @throws RangeError past a limit */
function addItems(view: DataView, from: number, to: number, size: ImageSize): void {
  const types = new Map<number, string>();
  let data = 0;
  let locations = 0;
  for (const { type, start, end } of boxes(view, from, to, size)) {
    if (type === 'idat') data = start;
    if (type === 'iloc') locations = start;
    if (type !== 'iinf') continue;
    for (const entry of boxes(view, start + (view.getUint8(start) === 0 ? 6 : 8), end, size)) {
      const isLong = view.getUint8(entry.start) > 2;
      const id = isLong ? view.getUint32(entry.start + 4) : view.getUint16(entry.start + 4);
      types.set(id, textAt(view, entry.start + (isLong ? 10 : 8), 4));
    }
  }
  if (locations === 0) return;
  for (const { id, extents } of itemLocations(view, locations, data, size)) {
    const type = types.get(id);
    if (type === 'av01') addSequenceHeaders(joined(view, extents, size), size);
    if (type === 'grid') addGrid(joined(view, extents, size), size);
  }
}

interface Item {
  id: number;
  extents: [start: number, length: number][];
}

/** Reads an `iloc` box. @param data position of the `idat` box, to which offsets of method 1 are relative */
function* itemLocations(
  view: DataView,
  start: number,
  data: number,
  size: ImageSize,
): Generator<Item, void, undefined> {
  const version = view.getUint8(start);
  const widths = view.getUint16(start + 4);
  let at = start + 6;
  const read = (width: number): number => {
    let value = 0;
    for (let byte = 0; byte < width; byte++) value = value * 256 + view.getUint8(at++);
    return value;
  };
  const wide = version < 2 ? 2 : 4;
  for (let items = read(wide); items > 0; items--) {
    const id = read(wide);
    const method = version > 0 ? read(2) & 15 : 0;
    read(2);
    const base = read((widths >> 4) & 15) + (method === 1 ? data : 0);
    const extents: Item['extents'] = [];
    for (let count = read(2); count > 0; count--) {
      if (version > 0) read(widths & 15);
      const offset = base + read(widths >> 12);
      extents.push([offset, read((widths >> 8) & 15) || view.byteLength]);
      size.count();
    }
    yield { id, extents };
  }
}

function joined(view: DataView, extents: Item['extents'], size: ImageSize): Uint8Array {
  const parts = extents.map(([start, length]) => bytesAt(view, start, start + length));
  if (parts.length === 1 && parts[0]) return parts[0];
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  if (total > view.byteLength) throw new RangeError('an item is larger than the file');
  size.count(total / COPIED_BYTES);
  const bytes = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Adds the size of the image that a grid's rows and columns make. */
function addGrid(bytes: Uint8Array, size: ImageSize): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint8(1) & 1) size.add(view.getUint32(4), view.getUint32(8));
  else size.add(view.getUint16(4), view.getUint16(6));
}
