import { messageOf } from '#base';
import { checkReads } from '#images';
import { interfaceOf } from './web-idl.ts';

/** What `createImageBitmap()` takes, or the bytes of an image. */
export type ImageSource = ImageBitmapSource | BufferSource;

const SOURCE =
  /^(?:Blob|File|ImageData|ImageBitmap|VideoFrame|OffscreenCanvas|HTML(?:Image|Canvas|Video)Element|SVGImageElement|ArrayBuffer)$/;

export const isImageSource = (value: unknown): value is ImageSource =>
  ArrayBuffer.isView(value) || SOURCE.test(interfaceOf(value));

/** `/v1` shrinks larger images to this, too. */
const MAX_SIDE = 2048;

/** An image of a prompt, as it is when the page gives it: prompts may wait for others. */
export class PromptImage {
  readonly url: Promise<string>;

  constructor(source: ImageSource) {
    this.url = toImageUrl(source);
    // Reported when the prompt begins.
    this.url.catch(() => undefined);
  }
}

/** Draws an image of a prompt as a `data:` URL for `/v1`. @throws DOMException `EncodingError`, `SecurityError` */
async function toImageUrl(source: ImageSource): Promise<string> {
  const isBytes = ArrayBuffer.isView(source) || interfaceOf(source) === 'ArrayBuffer';
  const drawable = isBytes ? new Blob([source as BufferSource]) : (source as ImageBitmapSource);
  const bitmap = await createImageBitmap(drawable).catch((error: unknown) => {
    throw interfaceOf(drawable) === 'Blob' || interfaceOf(drawable) === 'File'
      ? new DOMException('The image cannot be decoded.', 'EncodingError')
      : error;
  });
  try {
    checkReads();
  } catch (error) {
    throw new DOMException(`The image ${messageOf(error)}.`, 'EncodingError');
  }
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.toDataURL('image/png');
}
