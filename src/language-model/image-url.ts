import type { ImageSource } from './prompt-messages.ts';
import { interfaceOf } from './web-idl.ts';

/** `/v1` shrinks larger images to this, too. */
const MAX_SIDE = 2048;

/** Draws an image of a prompt as a `data:` URL for `/v1`. @throws DOMException `EncodingError`, `SecurityError` */
export async function toImageUrl(source: ImageSource): Promise<string> {
  const isBytes = ArrayBuffer.isView(source) || interfaceOf(source) === 'ArrayBuffer';
  const drawable = isBytes ? new Blob([source as BufferSource]) : (source as ImageBitmapSource);
  const bitmap = await createImageBitmap(drawable).catch((error: unknown) => {
    throw interfaceOf(drawable) === 'Blob' || interfaceOf(drawable) === 'File'
      ? new DOMException('The image cannot be decoded.', 'EncodingError')
      : error;
  });
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.toDataURL('image/png');
}
