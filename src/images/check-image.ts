import { type ImageHeader, readImageHeader } from './image-header.ts';

/** Maximum size of an encoded image, in bytes. */
export const MAX_IMAGE_BYTES = 20_000_000;
/** Maximum size of a decoded image, in pixels. */
const MAX_PIXELS = 40_000_000;

export const IMAGE_TOO_LARGE = `is larger than ${MAX_IMAGE_BYTES / 1e6} MB, the most that an image may have. Send a smaller one`;

/** Error for an image that is not decoded. The message is a phrase that follows the image's name. */
export class ImageError extends Error {
  override name = 'ImageError';
}

/** Checks an image by its header and its structure. @throws ImageError */
export function checkImage(bytes: Uint8Array): ImageHeader {
  if (bytes.length > MAX_IMAGE_BYTES) throw new ImageError(IMAGE_TOO_LARGE);
  const header = readImageHeader(bytes);
  if (!header) throw new ImageError('is no PNG, JPEG, WebP or GIF, or is cut off. Send one of these formats');
  const fault = tooManyPixels(header);
  if (fault) throw fault;
  if (header.fault) throw new ImageError(header.fault);
  if (!header.whole) throw new ImageError(`is ${nameOf(header)} that is cut off. Send the whole file`);
  return header;
}

/** Returns an error if an image has too many pixels; null otherwise. */
export function tooManyPixels({ width, height }: Pick<ImageHeader, 'width' | 'height'>): ImageError | null {
  if (width * height <= MAX_PIXELS) return null;
  const message = `has ${width} × ${height} pixels: ${MAX_PIXELS / 1e6} million is the most that an image may have. Send a smaller one`;
  return new ImageError(message);
}

/** Type of an image with its article: "a PNG". */
export const nameOf = ({ type }: ImageHeader): string => `a ${type.slice('image/'.length).toUpperCase()}`;
