import { bytes } from '../format.ts';
import { MAX_PICTURE_BYTES, PICTURE_TYPES, type Picture } from './picture.ts';

/** Of a file that is read. */
const MAX_FILE_BYTES = 20_000_000;
/** Of the longer side; the engine shrinks to it too. */
const MAX_SIDE = 2048;
/** Tried one after another. The last one fits: a megapixel. */
const SIZES = [
  { side: MAX_SIDE, quality: 0.9 },
  { side: MAX_SIDE, quality: 0.75 },
  { side: 1024, quality: 0.75 },
];

/** The file as it is, or shrunk where it has more than models take. @throws Error that says why there is none */
export async function toPicture(file: File): Promise<Picture> {
  const name = file.name || 'picture';
  if (!PICTURE_TYPES.includes(file.type))
    throw new Error(`${name} is no PNG, JPEG, WebP, GIF or AVIF. Save it as one of these.`);
  if (file.size > MAX_FILE_BYTES)
    throw new Error(`${name} has more than ${bytes(MAX_FILE_BYTES)}. Choose a smaller one.`);
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`${name} is damaged, or of a kind that this browser cannot decode.`);
  });
  try {
    const longer = Math.max(bitmap.width, bitmap.height);
    if (longer <= MAX_SIDE && file.size <= MAX_PICTURE_BYTES)
      // A copy: the file may change or go.
      return { name, blob: new Blob([await file.arrayBuffer()], { type: file.type }) };
    for (const { side, quality } of SIZES) {
      const blob = await shrink(bitmap, Math.min(1, side / longer), quality);
      if (blob.size <= MAX_PICTURE_BYTES) return { name, blob };
    }
    throw new Error(`${name} cannot be shrunk to ${bytes(MAX_PICTURE_BYTES)}. Choose a smaller one.`);
  } finally {
    bitmap.close();
  }
}

async function shrink(bitmap: ImageBitmap, scale: number, quality: number): Promise<Blob> {
  const width = Math.max(1, Math.round(bitmap.width * scale));
  const height = Math.max(1, Math.round(bitmap.height * scale));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser has no canvas.');
  // JPEG has no transparency.
  context.fillStyle = '#fff';
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, width, height);
  return canvas.convertToBlob({ type: 'image/jpeg', quality });
}
