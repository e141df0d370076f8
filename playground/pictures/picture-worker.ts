import { ImageError, decodeImage, drawImage } from '#images';
import { bytes } from '../format.ts';
import { MAX_PICTURE_BYTES, MAX_SIDE } from './picture.ts';

/** Tried one after another. The last one fits: a megapixel. */
const SIZES = [
  { side: MAX_SIDE, quality: 0.9 },
  { side: MAX_SIDE, quality: 0.75 },
  { side: 1024, quality: 0.75 },
];

/** `fault` follows the file's name. */
export type Shrunk = { blob: Blob; fault: null } | { blob: null; fault: string };

addEventListener('message', ({ data }: MessageEvent<File>) => {
  void shrink(data).then(
    (blob) => postMessage({ blob, fault: null } satisfies Shrunk),
    (error: unknown) => {
      const fault = error instanceof ImageError ? error.message : 'could not be decoded';
      postMessage({ blob: null, fault } satisfies Shrunk);
    },
  );
});

async function shrink(file: File): Promise<Blob> {
  const content = await file.arrayBuffer();
  const bitmap = await decodeImage(new Uint8Array(content));
  // A copy: the file may change or go.
  if (Math.max(bitmap.width, bitmap.height) <= MAX_SIDE && file.size <= MAX_PICTURE_BYTES)
    return new Blob([content], { type: file.type });
  for (const { side, quality } of SIZES) {
    // JPEG has no transparency.
    const blob = await drawImage(bitmap, side).canvas.convertToBlob({ type: 'image/jpeg', quality });
    if (blob.size <= MAX_PICTURE_BYTES) return blob;
  }
  throw new ImageError(`cannot be shrunk to ${bytes(MAX_PICTURE_BYTES)}. Choose a smaller one`);
}
