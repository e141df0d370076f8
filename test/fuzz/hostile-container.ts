import type { Random } from '../chaos/random.ts';
import { joinBytes } from './join-bytes.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** A part of a file: an MP4 box, an EBML element, an Ogg page or a RIFF chunk. */
interface Part {
  at: number;
  /** Bytes before its content. */
  head: number;
  size: number;
  /** Position and length of the number that says its size. */
  sizeAt: number;
  sizeBytes: number;
}

type Find = (file: Bytes) => Part[];

const view = (file: Bytes): DataView => new DataView(file.buffer, file.byteOffset, file.length);
const latin1 = (file: Bytes, at: number, length: number): string =>
  String.fromCharCode(...file.subarray(at, at + length));

const BOXES = new Set('moov trak mdia minf stbl edts udta dinf moof traf mvex'.split(' '));

/** Boxes, those within others included. */
const findBoxes: Find = (file) => {
  const parts: Part[] = [];
  const walk = (from: number, to: number): void => {
    for (let at = from; at + 8 <= to;) {
      const size = view(file).getUint32(at);
      if (size < 8 || at + size > to) return;
      parts.push({ at, head: 8, size, sizeAt: at, sizeBytes: 4 });
      if (BOXES.has(latin1(file, at + 4, 4))) walk(at + 8, at + size);
      at += size;
    }
  };
  walk(0, file.length);
  return parts;
};

/** Ids of elements that hold others: EBML, Segment, Info, Tracks, TrackEntry, Audio, Cluster, BlockGroup, Cues, CuePoint. */
const MASTERS = new Set([
  0x1a45dfa3, 0x18538067, 0x1549a966, 0x1654ae6b, 0xae, 0xe1, 0x1f43b675, 0xa0, 0x1c53bb6b, 0xbb,
]);

const findElements: Find = (file) => {
  const parts: Part[] = [];
  const lengthOf = (byte: number): number => Math.clz32(byte) - 23;
  const number = (at: number, length: number): number =>
    file.subarray(at, at + length).reduce((value, byte) => value * 256 + byte, 0);
  const walk = (from: number, to: number): void => {
    for (let at = from; at + 2 <= to;) {
      const idBytes = lengthOf(file[at] ?? 0);
      const sizeAt = at + idBytes;
      const sizeBytes = lengthOf(file[sizeAt] ?? 0);
      if (idBytes > 4 || sizeBytes > 8) return;
      const most = 2 ** (7 * sizeBytes);
      const told = number(sizeAt, sizeBytes) - most;
      const head = idBytes + sizeBytes;
      // All ones: unknown, up to its parent's end.
      const size = told === most - 1 ? to - at : head + told;
      if (at + size > to) return;
      parts.push({ at, head, size, sizeAt, sizeBytes });
      if (MASTERS.has(number(at, idBytes))) walk(at + head, at + size);
      at += size;
    }
  };
  walk(0, file.length);
  return parts;
};

const PAGE_HEAD = 27;

/** Pages. The number of their segments stands for their size. */
const findPages: Find = (file) => {
  const parts: Part[] = [];
  for (let at = 0; at + PAGE_HEAD <= file.length && latin1(file, at, 4) === 'OggS';) {
    const segments = file[at + PAGE_HEAD - 1] ?? 0;
    const head = PAGE_HEAD + segments;
    const size = head + file.subarray(at + PAGE_HEAD, at + head).reduce((sum, each) => sum + each, 0);
    parts.push({ at, head, size, sizeAt: at + PAGE_HEAD - 1, sizeBytes: 1 });
    at += size;
  }
  return parts;
};

/** Chunks of a RIFF file; their sizes are little-endian. */
const findChunks: Find = (file) => {
  const parts: Part[] = [];
  for (let at = 12; at + 8 <= file.length;) {
    const size = 8 + view(file).getUint32(at + 4, true);
    if (at + size > file.length) break;
    parts.push({ at, head: 8, size, sizeAt: at + 4, sizeBytes: 4 });
    at += size;
  }
  return parts;
};

const FIND: Record<string, Find> = { m4a: findBoxes, webm: findElements, ogg: findPages, wav: findChunks };
export const CONTAINERS = Object.keys(FIND);

const NUMBERS = [0, 1, 2, 7, 8, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff];
const COPIES = [1, 2, 100, 5000];
const MAX_BYTES = 4_000_000;

/** A file whose parts are intact but for some: a size or a count that lies, one left out, moved, repeated or put into itself. */
export function hostileContainer(random: Random, clip: Uint8Array, format: string): Bytes {
  let file = Uint8Array.from(clip);
  for (let left = 1 + random.below(4); left > 0; left--) {
    const parts = FIND[format]?.(file) ?? [];
    if (parts.length === 0) break;
    file = changed(random, file, random.pick(parts), random.pick(parts));
  }
  return file;
}

function changed(random: Random, file: Bytes, part: Part, other: Part): Bytes {
  const end = part.at + part.size;
  const whole = file.subarray(part.at, end);
  const copies = Math.max(1, Math.min(random.pick(COPIES), Math.floor(MAX_BYTES / part.size)));
  const withSize = (bytes: Bytes): Bytes => {
    bytes.fill(random.pick([0, 1, 0x7f, 0xff]), part.sizeAt, part.sizeAt + part.sizeBytes);
    return bytes;
  };
  return random.pick<() => Bytes>([
    () => withSize(file),
    () => {
      // A count or a time at the content's begin; a page's in its head.
      const at = part.at + random.pick([4, 6, 14, part.head, part.head + 4, part.head + 8, part.head + 12]);
      if (at + 4 <= file.length) view(file).setUint32(at, random.pick(NUMBERS));
      return file;
    },
    () => {
      const at = part.at + random.below(Math.min(part.size, part.head + 64));
      file[at] = random.below(256);
      return file;
    },
    () => joinBytes([file.subarray(0, part.at), file.subarray(end)]),
    () => joinBytes([file.subarray(0, other.at), whole, file.subarray(other.at)]),
    () =>
      joinBytes([file.subarray(0, end), ...Array.from({ length: copies }, () => whole), file.subarray(end)]),
    // Heads within each other, each of which says that it holds all that follows.
    () => {
      const head = file.slice(part.at, part.at + part.head);
      const heads = Array.from({ length: random.pick(COPIES) }, () => head);
      return joinBytes([file.subarray(0, part.at), ...heads, file.subarray(part.at)]);
    },
    () => file.slice(0, part.at + random.below(part.size + 1)),
  ])();
}
