import { crc32, deflateSync } from 'node:zlib';

import type { Page } from 'playwright';

type Color = readonly [red: number, green: number, blue: number];

/** A PNG without an alpha channel. */
export function png(width: number, height: number, colorAt: (x: number, y: number) => Color): Buffer {
  const rows = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (_pixel, x) => colorAt(x, y)).flat(),
  ]);
  return pngOf(width, height, deflateSync(Buffer.from(rows.flat())));
}

/** A PNG that says it has such a size, whatever is in it. @param others chunks before the image's data */
export function pngOf(width: number, height: number, data: Buffer, ...others: Buffer[]): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  // Eight bits of red, green and blue.
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const parts = [chunk('IHDR', head), ...others, chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([signature, ...parts]);
}

/** One part of a PNG. */
export function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

const byte = (value: number): number => Math.round(value) & 255;

/** Five that differ in shape and content. The last is larger than the tiny model takes. */
export const PICTURES: Buffer[] = [
  png(64, 64, () => [220, 30, 30]),
  png(100, 40, (x, y) => [byte(x * 2.5), byte(y * 6), 40]),
  png(30, 90, (x, y) => [byte(x * y), 0, byte(y * 2.8)]),
  png(300, 200, (x, y) => (((x >> 5) + (y >> 5)) % 2 ? [250, 250, 250] : [10, 10, 80])),
  png(420, 310, (x, y) => [
    byte(128 + 127 * Math.sin(x / 30)),
    byte(128 + 127 * Math.cos(y / 20)),
    byte(x / 2),
  ]),
];

export const dataUrl = (file: Buffer, type = 'image/png'): string =>
  `data:${type};base64,${file.toString('base64')}`;

/** A JPEG that EXIF says is turned: 6 is a quarter to the right. */
export function withOrientation(jpeg: Buffer, orientation: number): Buffer {
  const tiff = Buffer.from('4d4d002a00000008000101120003000000010000000000000000', 'hex');
  tiff.writeUInt16BE(orientation, 18);
  const body = Buffer.concat([Buffer.from('Exif\0\0'), tiff]);
  const head = Buffer.from([0xff, 0xe1, 0, 0]);
  head.writeUInt16BE(body.length + 2, 2);
  // After the start of the image.
  return Buffer.concat([jpeg.subarray(0, 2), head, body, jpeg.subarray(2)]);
}

/** One red pixel. */
export const GIF = Buffer.from('R0lGODlhAQABAIABAP8AAP///yH5BAEAAAEALAAAAAABAAEAAAICRAEAOw==', 'base64');
/** A picture of 100 × 40 pixels in each type, as the browser writes it. */
export async function drawn(page: Page, types: string[]): Promise<Buffer[]> {
  const files = await page.evaluate(async (asked) => {
    const canvas = new OffscreenCanvas(100, 40);
    const pen = canvas.getContext('2d');
    if (!pen) throw new Error('no canvas');
    pen.fillStyle = '#c33';
    pen.fillRect(0, 0, 60, 40);
    return Promise.all(
      asked.map(async (type) => {
        const blob = await canvas.convertToBlob({ type, quality: 1 });
        return btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
      }),
    );
  }, types);
  return files.map((file) => Buffer.from(file, 'base64'));
}
