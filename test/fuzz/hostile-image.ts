import { Random } from '../chaos/random.ts';
import {
  apngOf,
  gifOf,
  jpegOf,
  progressiveJpegOf,
  textBombPng,
  webpOf,
} from '../support/vision/image-files.ts';
import { pngOf } from '../support/vision/pictures.ts';

export interface HostileImage {
  kind: string;
  file: Buffer;
  /** What a decoder may allocate. */
  width: number;
  height: number;
}

/** An image file that tells a small size first, and its own somewhere else. */
export function hostileImage(random: Random): HostileImage {
  const side = (most: number): number => random.pick([3, 1000, most - random.below(1000)]);
  const kinds: Record<string, [most: number, make: (width: number, height: number) => Buffer]> = {
    png: [2 ** 31, (width, height) => pngOf(width, height, Buffer.alloc(9))],
    apng: [2 ** 31, apngOf],
    gif: [65_535, (width, height) => gifOf(0, 0, width, height)],
    'gif with an offset': [65_535, (width, height) => gifOf(width - 1, height - 1, 1, 1)],
    jpeg: [65_535, jpegOf],
    webp: [16_384, webpOf],
    'webp with a frame': [16_384, (width, height) => webpOf(width, height, true)],
  };
  const kind = random.pick(Object.keys(kinds));
  const [most, make] = kinds[kind] ?? [1, () => Buffer.alloc(0)];
  const [width, height] = [side(most), side(most)];
  return { kind, file: make(width, height), width, height };
}

/** Scans of a progressive JPEG: within the bound, and beyond it. */
const SCANS = [1, 10, 100, 101, 1000];

/** An image of few bytes that takes long to decode, or would take much memory. */
export function slowImage(random: Random): Buffer {
  if (random.below(3) === 0) return textBombPng(random.pick([1, 20]));
  const side = random.pick([64, 2000, 6000]);
  return progressiveJpegOf(side, side, random.pick(SCANS));
}
