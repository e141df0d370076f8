import { deflateSync } from 'node:zlib';

import { chunk as pngChunk, GIF, pngOf } from './pictures.ts';

/** Pieces of image files, to say anything with. */

const latin = (text: string): Buffer => Buffer.from(text, 'latin1');

const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
};

/** A GIF of a screen of 1 × 1 with a second frame at this place. */
export function gifOf(left: number, top: number, width: number, height: number): Buffer {
  const frame = Buffer.alloc(11);
  frame[0] = 0x2c;
  for (const [index, value] of [left, top, width, height].entries())
    frame.writeUInt16LE(value, 1 + 2 * index);
  return Buffer.concat([GIF.subarray(0, -1), frame, Buffer.from('02440100', 'hex'), latin(';')]);
}

/** A PNG of 3 × 2 whose animation has a frame of this size. */
export function apngOf(width: number, height: number): Buffer {
  const frame = Buffer.concat([u32(26), latin('fcTL'), u32(0, width, height), Buffer.alloc(18)]);
  const file = pngOf(3, 2, Buffer.alloc(9));
  return Buffer.concat([file.subarray(0, 33), frame, file.subarray(33)]);
}

/** A JPEG of 3 × 2, with a second frame header before its scan. */
export function jpegOf(width: number, height: number): Buffer {
  const second = Buffer.from('ffc0000b080002000301011100', 'hex');
  second.writeUInt16BE(height, 5);
  second.writeUInt16BE(width, 7);
  return Buffer.concat([
    Buffer.from('ffd8ffdb000300ffc0000b080002000301011100', 'hex'),
    second,
    Buffer.from('ffda000301ff00d2ffd9', 'hex'),
  ]);
}

/** A gray progressive JPEG, most of whose scans say that nothing comes for all blocks. */
export function progressiveJpegOf(width: number, height: number, scans: number): Buffer {
  const segment = (marker: string, body: Buffer): Buffer =>
    Buffer.concat([Buffer.from(marker, 'hex'), u32(body.length + 2).subarray(2), body]);
  const table = (id: number, symbol: number): Buffer =>
    segment('ffc4', Buffer.concat([Buffer.from([id, 1]), Buffer.alloc(15), Buffer.from([symbol])]));
  const blocks = Math.ceil(width / 8) * Math.ceil(height / 8);
  // Each code ends a run of 32,767 blocks: a bit, and fourteen that are set.
  const bits = '011111111111111'.repeat(Math.ceil(blocks / 32_767));
  const bytes = bits.match(/.{1,8}/g)?.map((byte) => Number.parseInt(byte.padEnd(8, '1'), 2)) ?? [];
  const coded = Buffer.from(bytes.flatMap((byte) => (byte === 0xff ? [byte, 0] : [byte])));
  const scan = Buffer.concat([segment('ffda', Buffer.from('010100013f00', 'hex')), coded]);
  const frame = Buffer.concat([
    Buffer.from([8]),
    u32(height).subarray(2),
    u32(width).subarray(2),
    Buffer.from('01011100', 'hex'),
  ]);
  return Buffer.concat([
    Buffer.from('ffd8', 'hex'),
    segment('ffdb', Buffer.concat([Buffer.from([0]), Buffer.alloc(64, 1)])),
    segment('ffc2', frame),
    table(0, 0),
    table(0x10, 0xe0),
    segment('ffda', Buffer.from('010100000000', 'hex')),
    Buffer.alloc(Math.ceil(blocks / 8)),
    ...Array.from({ length: scans - 1 }, () => scan),
    Buffer.from('ffd9', 'hex'),
  ]);
}

/** A PNG of 3 × 3 whose texts take some hundred thousand times their bytes. */
export function textBombPng(texts: number): Buffer {
  const bomb = deflateSync(Buffer.alloc(20_000_000), { level: 9 });
  const parts = Array.from({ length: texts }, (_, index) =>
    index % 2 === 0
      ? pngChunk('zTXt', Buffer.concat([latin('a\0\0'), bomb]))
      : pngChunk('iTXt', Buffer.concat([latin('a\0\x01\0\0\0'), bomb])),
  );
  return pngOf(3, 3, deflateSync(Buffer.alloc(30)), ...parts);
}

const chunk = (type: string, ...content: Buffer[]): Buffer => {
  const body = Buffer.concat(content);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([latin(type), length, body]);
};

/** A WebP with a canvas of 1 × 1 and a lossless image, or a frame with one, of this size (at most 16,384). */
export function webpOf(width: number, height: number, isFrame = false): Buffer {
  const bits = Buffer.alloc(4);
  bits.writeUInt32LE((width - 1) | ((height - 1) << 14));
  const image = chunk('VP8L', Buffer.from([0x2f]), bits, Buffer.alloc(1));
  const body = isFrame ? chunk('ANMF', Buffer.alloc(16), image) : image;
  return chunk('RIFF', latin('WEBP'), chunk('VP8X', Buffer.alloc(10)), body);
}
