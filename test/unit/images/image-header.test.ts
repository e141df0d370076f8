import { expect, test } from 'vitest';

import { checkImage } from '../../../src/images/check-image.ts';
import { readImageHeader } from '../../../src/images/image-header.ts';
import { AVIF as ENCODED_AVIF, PICTURES, pngOf, withOrientation } from '../../support/vision/pictures.ts';

const [picture = Buffer.alloc(0)] = PICTURES;
const latin = (text: string) => Buffer.from(text, 'latin1');

/** A start, a table, a frame of 3 × 2, a scan, and the end. */
const JPEG = Buffer.from('ffd8ffdb000300ffc0000b080002000301011100ffda000301ff00d2ffd9', 'hex');
const GIF = Buffer.from('R0lGODlhAQABAIABAP8AAP///yH5BAEAAAEALAAAAAABAAEAAAICRAEAOw==', 'base64');
const riff = (kind: string, content: string) => {
  const body = Buffer.concat([latin(`WEBP${kind}`), Buffer.from(content, 'hex')]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([latin('RIFF'), length, body]);
};
const box = (type: string, content: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length + 8);
  return Buffer.concat([length, latin(type), content]);
};
const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
};
const properties = (width: number, height: number): Buffer =>
  box('iprp', box('ipco', box('ispe', u32(0, width, height))));
const AVIF = Buffer.concat([
  box('ftyp', latin('avif\0\0\0\0avifmif1')),
  box('meta', Buffer.concat([Buffer.alloc(4), properties(7, 5)])),
  box('mdat', latin('pixels')),
]);

/** Type, file, size, and the lengths to which it may be cut unseen: those between frames and boxes. */
const FILES: [string, Buffer, number, number, number[]?][] = [
  ['image/png', PICTURES[1] ?? picture, 100, 40],
  ['image/jpeg', JPEG, 3, 2],
  ['image/jpeg', withOrientation(JPEG, 6), 3, 2],
  ['image/gif', GIF, 1, 1, [GIF.length - 1]],
  ['image/webp', riff('VP8 ', '0a000000d000009d012a05000300ff'), 5, 3],
  ['image/webp', riff('VP8L', '0a0000002f04800000ff'), 5, 3],
  ['image/webp', riff('VP8X', '0a00000000000000040000020000'), 5, 3],
  ['image/avif', AVIF, 7, 5, [AVIF.length - 14]],
  // Its boxes tell 1 × 1, its data 2 × 2.
  ['image/avif', ENCODED_AVIF, 2, 2, [ENCODED_AVIF.length - 37]],
];

test.each(FILES)('%s says its size, and whether it is whole', (type, file, width, height, cuts = []) => {
  expect(readImageHeader(file)).toEqual({ type, width, height, whole: true });
  for (let length = 0; length < file.length; length++)
    expect(readImageHeader(file.subarray(0, length))?.whole ?? false).toBe(cuts.includes(length));
});

/** A GIF of a screen of 1 × 1, with a frame at a place. */
function gifOf(left: number, top: number, width: number, height: number): Buffer {
  const frame = Buffer.alloc(11);
  frame[0] = 0x2c;
  for (const [index, value] of [left, top, width, height].entries())
    frame.writeUInt16LE(value, 1 + 2 * index);
  return Buffer.concat([
    GIF.subarray(0, -1),
    frame,
    Buffer.from('0244010000', 'hex').subarray(0, 4),
    latin(';'),
  ]);
}

/** A PNG whose animation has a frame of this size. */
function apngOf(width: number, height: number): Buffer {
  const frame = Buffer.concat([u32(26), latin('fcTL'), u32(0, width, height), Buffer.alloc(18)]);
  const file = pngOf(3, 2, Buffer.alloc(9));
  return Buffer.concat([file.subarray(0, 33), frame, file.subarray(33)]);
}

const chunk = (type: string, content: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(content.length);
  return Buffer.concat([latin(type), length, content]);
};
const webpOf = (...chunks: Buffer[]): Buffer => {
  const body = Buffer.concat([latin('WEBP'), ...chunks]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([latin('RIFF'), length, body]);
};
const CANVAS = chunk('VP8X', Buffer.alloc(10));
/** A lossless image of 16,384 × 16,384. */
const LOSSLESS = chunk('VP8L', Buffer.from('2fffffff0f00', 'hex'));

const avifOf = (...boxes: Buffer[]): Buffer => Buffer.concat([AVIF.subarray(0, 24), ...boxes]);
const meta = (...boxes: Buffer[]): Buffer => box('meta', Buffer.concat([Buffer.alloc(4), ...boxes]));
/** One item with its data in `idat`. */
const itemOf = (type: string, data: Buffer): Buffer =>
  meta(
    properties(1, 1),
    box(
      'iinf',
      Buffer.concat([
        Buffer.from('000000000001', 'hex'),
        box('infe', Buffer.concat([Buffer.from('0200000000010000', 'hex'), latin(type)])),
      ]),
    ),
    box('iloc', Buffer.concat([Buffer.from('01000000440000010001000100000001', 'hex'), u32(0, data.length)])),
    box('idat', data),
  );
/** A unit of AV1: the sequence header of a still picture of 65,536 × 65,536. */
const SEQUENCE = Buffer.from('0a08', 'hex');
const HUGE = Buffer.concat([SEQUENCE, Buffer.from('183fffffffffffff', 'hex')]);

test.each([
  ['GIF with a frame larger than its screen', gifOf(0, 0, 65_535, 65_535), 65_535],
  ['GIF with a frame far from its screen', gifOf(65_000, 65_000, 1, 1), 65_001],
  ['APNG with a frame larger than its canvas', apngOf(60_000, 60_000), 60_000],
  ['WebP with an image larger than its canvas', webpOf(CANVAS, LOSSLESS), 16_384],
  [
    'WebP with a frame larger than its canvas',
    webpOf(CANVAS, chunk('ANMF', Buffer.concat([Buffer.alloc(16), LOSSLESS]))),
    16_384,
  ],
  [
    'AVIF with its size behind 70,000 bytes',
    avifOf(box('free', Buffer.alloc(70_000)), meta(properties(60_000, 60_000))),
    60_000,
  ],
  [
    'AVIF with a box of 64 bits of length',
    avifOf(
      Buffer.concat([u32(1), latin('free'), u32(0, 24), Buffer.alloc(8)]),
      meta(properties(60_000, 60_000)),
    ),
    60_000,
  ],
  [
    'AVIF of a track',
    avifOf(
      box(
        'moov',
        box(
          'trak',
          box('tkhd', u32(...Array.from({ length: 19 }, () => 0), 60_000 * 65_536, 60_000 * 65_536)),
        ),
      ),
    ),
    60_000,
  ],
  ['AVIF of a grid', avifOf(itemOf('grid', Buffer.from('00000101ea60ea60', 'hex'))), 60_000],
  ['AVIF whose data has another size', avifOf(itemOf('av01', HUGE)), 65_536],
])('the size is what a decoder allocates: %s', (_, file, side) => {
  expect(readImageHeader(file)).toMatchObject({ width: side, height: side });
  expect(() => checkImage(file)).toThrow(`${side} × ${side} pixels`);
});

test.each([
  [
    'boxes in boxes',
    avifOf(
      Array.from({ length: 200_000 }).reduce<Buffer>(
        (inner, _each, index) => (index < 12 ? meta(inner) : inner),
        Buffer.alloc(8),
      ),
    ),
  ],
  [
    'extents without bytes',
    avifOf(
      meta(
        box(
          'iloc',
          Buffer.concat([
            Buffer.from('000000000000ffff', 'hex'),
            Buffer.from('00010000ffff'.repeat(65_535), 'hex'),
          ]),
        ),
      ),
    ),
  ],
  ['sequence headers', avifOf(itemOf('av01', Buffer.concat(Array.from({ length: 100_000 }, () => HUGE))))],
  [
    'frames',
    Buffer.concat([
      GIF.subarray(0, 19),
      Buffer.concat(Array.from({ length: 200_000 }, () => Buffer.from('2c0000000000000000000200', 'hex'))),
    ]),
  ],
])('a file of nothing but %s is none', (_, file) => {
  expect(readImageHeader(file)).toBeNull();
});

test('no bytes make it fail or run on', () => {
  let state = 1;
  const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24;
  for (const [, file] of FILES) {
    for (let round = 0; round < 400; round++) {
      const damaged = Buffer.from(file);
      for (let changes = 0; changes < 3; changes++)
        damaged[(random() * 7 + random()) % damaged.length] = random();
      readImageHeader(damaged);
    }
  }
});

test('an image is refused before it is decoded', () => {
  const refusal = (file: Buffer) => () => checkImage(file);
  expect(refusal(latin('<svg xmlns="http://www.w3.org/2000/svg"/>'))).toThrow(/^is no PNG/);
  expect(refusal(Buffer.alloc(0))).toThrow(/is no PNG/);
  expect(refusal(pngOf(0, 9, Buffer.alloc(9)))).toThrow(/is no PNG/);
  expect(refusal(pngOf(8000, 5001, Buffer.alloc(9)))).toThrow(/8000 × 5001 pixels/);
  expect(refusal(picture.subarray(0, -3))).toThrow(/is a PNG that breaks off/);
  expect(refusal(Buffer.concat([picture, Buffer.alloc(20_000_000)]))).toThrow(/larger than 20 MB/);
  expect(checkImage(pngOf(8000, 5000, Buffer.alloc(9)))).toMatchObject({ width: 8000 });
});
