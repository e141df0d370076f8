import { sha256 } from '#base';
import { checkImage, ImageError, nameOf, tooManyPixels } from './check-image.ts';

/** An image in the format that llama.cpp takes. */
export interface ModelImage {
  /** Portable pixmap (PPM), which is uncompressed. */
  file: Uint8Array<ArrayBuffer>;
  /** SHA-256 of the file in hex, which identifies the image. */
  digest: string;
}

interface Drawn {
  canvas: OffscreenCanvas;
  context: OffscreenCanvasRenderingContext2D;
}

/** Decodes an image within the limits. Call it in a worker that can be terminated. @throws ImageError */
export async function decodeImage(bytes: Uint8Array<ArrayBuffer>): Promise<ImageBitmap> {
  const header = checkImage(bytes);
  const bitmap = await createImageBitmap(new Blob([bytes], { type: header.type })).catch(() => {
    throw new ImageError(`is ${nameOf(header)} that this browser cannot decode. Send it as PNG or JPEG`);
  });
  const fault = tooManyPixels(bitmap);
  if (fault) bitmap.close();
  if (fault) throw fault;
  return bitmap;
}

function blank(width: number, height: number): Drawn {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new ImageError('cannot be read: this browser does not let pages draw on a canvas');
  return { canvas, context };
}

/** Side of the image that is read back to check a canvas. */
const CHECK_SIDE = 64;
/** Largest difference that leaves an image as it is, for models and for people. */
const MAX_DIFFERENCE = 4;

/**
 * Checks that the browser leaves what a script reads from a canvas. Firefox alters it with `privacy.resistFingerprinting`,
 * and a model would see noise. An image of one colour may be left as it is, so this one has many.
 * @throws ImageError if it is altered
 */
export function checkReads(): void {
  const { context } = blank(CHECK_SIDE, CHECK_SIDE);
  const drawn = new ImageData(CHECK_SIDE, CHECK_SIDE);
  for (let at = 0; at < drawn.data.length; at++) drawn.data[at] = at % 4 === 3 ? 255 : (at * 37) % 256;
  context.putImageData(drawn, 0, 0);
  const { data } = context.getImageData(0, 0, CHECK_SIDE, CHECK_SIDE);
  if (data.some((value, at) => Math.abs(value - (drawn.data[at] ?? 0)) > MAX_DIFFERENCE))
    throw new ImageError(
      'cannot be read: this browser alters what a page reads from a canvas, to prevent fingerprinting. Allow this site to read canvases, or use another browser',
    );
}

/**
 * Draws an image scaled down to `maxSide`, on a white background. EXIF orientation is already applied.
 * @throws ImageError if the browser alters canvases
 */
export function drawImage(bitmap: ImageBitmap, maxSide: number): Drawn {
  checkReads();
  const scale = Math.min(1, maxSide / Math.max(bitmap.width, bitmap.height));
  const width = Math.max(1, Math.round(bitmap.width * scale));
  const height = Math.max(1, Math.round(bitmap.height * scale));
  const { canvas, context } = blank(width, height);
  context.fillStyle = '#fff';
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, width, height);
  return { canvas, context };
}

export async function toPixmap({ canvas, context }: Drawn): Promise<ModelImage> {
  const { width, height } = canvas;
  const { data } = context.getImageData(0, 0, width, height);
  const head = new TextEncoder().encode(`P6\n${width} ${height}\n255\n`);
  const file = new Uint8Array(head.length + width * height * 3);
  file.set(head);
  for (let from = 0, to = head.length; from < data.length; from += 4, to += 3) {
    file[to] = data[from] ?? 0;
    file[to + 1] = data[from + 1] ?? 0;
    file[to + 2] = data[from + 2] ?? 0;
  }
  return { file, digest: await sha256(file) };
}
