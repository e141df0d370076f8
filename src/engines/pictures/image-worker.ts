import { transfer } from 'comlink';

import { ImageError, decodeImage, drawImage, toPixmap, type ModelImage } from '#images';
import { bytesOfDataUrl } from './data-url.ts';

/** Maximum length of the longer side, in pixels. Models downscale further or cut tiles; SmolVLM takes this size. */
const MAX_SIDE = 2048;

/**
 * Result of decoding. Errors are values, as thrown errors lose their class between workers.
 * `fault` follows the image's name.
 */
export type Decoded<Image> = { image: Image; fault: null } | { image: null; fault: string };

/** Decodes images in a worker that can be terminated. */
export const imageWorker = {
  pixmap: (file: Blob | string): Promise<Decoded<ModelImage>> =>
    decoded(file, async (bitmap) => {
      const image = await toPixmap(drawImage(bitmap, MAX_SIDE));
      return [image, image.file.buffer];
    }),

  bitmap: (file: Blob | string): Promise<Decoded<ImageBitmap>> =>
    decoded(file, async (bitmap) => {
      const image = drawImage(bitmap, MAX_SIDE).canvas.transferToImageBitmap();
      return [image, image];
    }),
};

async function decoded<Image>(
  file: Blob | string,
  draw: (bitmap: ImageBitmap) => Promise<[image: Image, transferred: Transferable]>,
): Promise<Decoded<Image>> {
  try {
    const bytes = typeof file === 'string' ? bytesOfDataUrl(file) : new Uint8Array(await file.arrayBuffer());
    const bitmap = await decodeImage(bytes);
    try {
      const [image, transferred] = await draw(bitmap);
      return transfer({ image, fault: null }, [transferred]);
    } finally {
      bitmap.close();
    }
  } catch (error) {
    if (error instanceof ImageError) return { image: null, fault: error.message };
    throw error;
  }
}
