import { expect, test, vi } from 'vitest';

import { readImageHeader } from '../../../../src/worker/images/image-header.ts';
import { checkImage, decodeUrl, imageUrl, readImages } from '../../../../src/worker/images/read-images.ts';
import { dataUrl, PICTURES, pngOf, withOrientation } from '../../../support/vision/pictures.ts';

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
const AVIF = Buffer.concat([
  box('ftyp', latin('avif\0\0\0\0avifmif1')),
  box('meta', Buffer.concat([box('ispe', Buffer.from('000000000000000700000005', 'hex'))])),
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
];

test.each(FILES)('%s says its size, and whether it is whole', (type, file, width, height, cuts = []) => {
  expect(readImageHeader(file)).toEqual({ type, width, height, whole: true });
  for (let length = 0; length < file.length; length++)
    expect(readImageHeader(file.subarray(0, length))?.whole ?? false).toBe(cuts.includes(length));
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
  const refusal = (file: Buffer) => () => checkImage(file, 'messages[0].content[1]');
  expect(refusal(latin('<svg xmlns="http://www.w3.org/2000/svg"/>'))).toThrow(/content\[1\]` is no PNG/);
  expect(refusal(Buffer.alloc(0))).toThrow(/is no PNG/);
  expect(refusal(pngOf(0, 9, Buffer.alloc(9)))).toThrow(/is no PNG/);
  expect(refusal(pngOf(8000, 5001, Buffer.alloc(9)))).toThrow(/8000 × 5001 pixels/);
  expect(refusal(picture.subarray(0, -3))).toThrow(/is a PNG that breaks off/);
  expect(refusal(Buffer.concat([picture, Buffer.alloc(20_000_000)]))).toThrow(/larger than 20 MB/);
  expect(checkImage(pngOf(8000, 5000, Buffer.alloc(9)), '')).toMatchObject({ width: 8000 });
});

test('a request has 16 images at most', async () => {
  const images = Array.from({ length: 17 }, (_, index) => ({ at: 0, url: 'data:,', param: `part ${index}` }));
  const decode = vi.fn();
  await expect(readImages(images, [], decode, new AbortController().signal)).rejects.toThrow(
    /`part 16` is one image too many/,
  );
});

test('a data URL is an image in base64', () => {
  const refusal = (url: string) => () => decodeUrl(url, 'messages[0].content[1]');
  expect(Buffer.from(decodeUrl(dataUrl(picture), ''))).toEqual(picture);
  expect(decodeUrl('data:image/png;charset=x;BASE64,AQI=', '')).toEqual(Uint8Array.of(1, 2));
  expect(refusal('data:,')).toThrow(/not in base64/);
  expect(refusal('data:image/svg+xml,<svg/>')).toThrow(/not in base64/);
  expect(refusal('data:text/plain;base64,AQI=')).toThrow(/"text\/plain", which is no image/);
  expect(refusal('data:image/png;base64,%%%')).toThrow(/base64 is damaged/);
  expect(refusal(`data:image/png;base64,${'A'.repeat(26_700_000)}`)).toThrow(/larger than 20 MB/);
});

test('a URL is of the site, or of an origin that it names', () => {
  const own = 'https://site.example';
  const urlOf = (url: string, origins: string[] = []) =>
    imageUrl(url, 'messages[0].content[0]', origins, own).href;
  expect(urlOf('/a.png')).toBe('https://site.example/a.png');
  expect(urlOf('https://site.example/a.png')).toBe('https://site.example/a.png');
  expect(() => urlOf('https://other.example/a.png')).toThrow(/is at https:\/\/other\.example.*origins/);
  expect(() => urlOf('//other.example/a.png')).toThrow(/is at https:\/\/other\.example/);
  expect(() => urlOf('http://site.example/a.png')).toThrow(/is at http:\/\/site\.example/);
  expect(urlOf('https://other.example/a.png', ['no origin', 'https://other.example/'])).toContain('other');
  for (const url of [
    'blob:https://site.example/1',
    'file:///a.png',
    'javascript:0',
    'https://a:b@site.example/',
  ])
    expect(() => urlOf(url)).toThrow(/must have a `data:` URL, or one that begins with/);
});
