import { expect, test } from 'vitest';

import { checkImage } from '../../../src/images/check-image.ts';
import { readImageHeader } from '../../../src/images/image-header.ts';
import { apngOf, gifOf, jpegOf, progressiveJpegOf, webpOf } from '../../support/vision/image-files.ts';
import { PICTURES, pngOf, withOrientation } from '../../support/vision/pictures.ts';

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
/** The beginning of an AVIF file, a format that is refused. */
const AVIF = Buffer.concat([Buffer.from([0, 0, 0, 16]), latin('ftypavif'), Buffer.alloc(64)]);

/** Type, file, size, and the lengths to which it may be cut unseen: those between frames and boxes. */
const FILES: [string, Buffer, number, number, number[]?][] = [
  ['image/png', PICTURES[1] ?? picture, 100, 40],
  ['image/jpeg', JPEG, 3, 2],
  ['image/jpeg', withOrientation(JPEG, 6), 3, 2],
  ['image/gif', GIF, 1, 1, [GIF.length - 1]],
  ['image/webp', riff('VP8 ', '0a000000d000009d012a05000300ff'), 5, 3],
  ['image/webp', riff('VP8L', '0a0000002f04800000ff'), 5, 3],
  ['image/webp', riff('VP8X', '0a00000000000000040000020000'), 5, 3],
];

test.each(FILES)('%s says its size, and whether it is whole', (type, file, width, height, cuts = []) => {
  expect(readImageHeader(file)).toEqual({ type, width, height, whole: true });
  for (let length = 0; length < file.length; length++)
    expect(readImageHeader(file.subarray(0, length))?.whole ?? false).toBe(cuts.includes(length));
});

test.each([0x00, 0x01, 0x4f, 0xbf, 0xd0, 0xd7, 0xd8, 0xd9])(
  'a JPEG hides no size behind the marker %i, which has no length to skip',
  (marker) => {
    const hidden = Buffer.from('ffc0000b08ea60ea6001011100', 'hex');
    const told = Buffer.from('ffc0000b080001000101011100ffda000301ff00d2ffd9', 'hex');
    const file = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, marker]), hidden, Buffer.alloc(65_459), told]);
    // Where the length that seems to follow the marker is skipped, the size is 1 × 1.
    expect(file.indexOf(told)).toBe(4 + file.readUInt16BE(4));
    expect(readImageHeader(file)).toBeNull();
  },
);

test.each([
  ['GIF with a frame larger than its screen', gifOf(0, 0, 65_535, 65_535), 65_535],
  ['GIF with a frame far from its screen', gifOf(65_000, 65_000, 1, 1), 65_001],
  ['APNG with a frame larger than its canvas', apngOf(60_000, 60_000), 60_000],
  ['JPEG with a second frame', jpegOf(60_000, 60_000), 60_000],
  ['WebP with an image larger than its canvas', webpOf(16_384, 16_384), 16_384],
  ['WebP with a frame larger than its canvas', webpOf(16_384, 16_384, true), 16_384],
])('the size is what a decoder allocates: %s', (_, file, side) => {
  expect(readImageHeader(file)).toMatchObject({ width: side, height: side });
  expect(() => checkImage(file)).toThrow(`${side} × ${side} pixels`);
});

test.each([
  ['chunks', Buffer.concat([webpOf(9, 9), Buffer.alloc(1_600_000)])],
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

test('an image is refused before it is decoded', () => {
  const refusal = (file: Buffer) => () => checkImage(file);
  expect(refusal(latin('<svg xmlns="http://www.w3.org/2000/svg"/>'))).toThrow(/^is no PNG/);
  expect(refusal(AVIF)).toThrow(/^is no PNG, JPEG, WebP or GIF, or is cut off\. Send one of these formats$/);
  expect(refusal(Buffer.alloc(0))).toThrow(/is no PNG/);
  expect(refusal(pngOf(0, 9, Buffer.alloc(9)))).toThrow(/is no PNG/);
  expect(refusal(pngOf(8000, 5001, Buffer.alloc(9)))).toThrow(/8000 × 5001 pixels/);
  expect(refusal(progressiveJpegOf(9, 9, 101))).toThrow(/^is a JPEG of more than 100 scans/);
  expect(checkImage(progressiveJpegOf(9, 9, 100))).toMatchObject({ width: 9, height: 9 });
  expect(refusal(picture.subarray(0, -3))).toThrow(/is a PNG that is cut off/);
  expect(refusal(Buffer.concat([picture, Buffer.alloc(20_000_000)]))).toThrow(/larger than 20 MB/);
  expect(checkImage(pngOf(8000, 5000, Buffer.alloc(9)))).toMatchObject({ width: 8000 });
});
