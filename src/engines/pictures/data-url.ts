import { IMAGE_TOO_LARGE, ImageError, MAX_IMAGE_BYTES } from '#images';

/** Decodes the base64 of an image's `data:` URL. @throws ImageError */
export function bytesOfDataUrl(url: string): Uint8Array<ArrayBuffer> {
  const comma = url.indexOf(',');
  const [, type, isBase64] =
    /^data:([^;,]*)(?:;[^;,]*)*?(;base64)?$/i.exec(url.slice(0, Math.min(comma, 200))) ?? [];
  if (comma < 0 || type === undefined || isBase64 === undefined)
    throw new ImageError('has a `data:` URL that is not in base64. Use `data:image/png;base64,…`');
  if (!/^image\//i.test(type))
    throw new ImageError(`is of the type ${JSON.stringify(type.slice(0, 60))}, which is no image`);
  // Check before decoding, which takes as much memory again.
  if (((url.length - comma) * 3) / 4 > MAX_IMAGE_BYTES + 3) throw new ImageError(IMAGE_TOO_LARGE);
  try {
    const text = atob(toPlainBase64(url.slice(comma + 1)));
    // `Uint8Array.from()` takes twenty times as long.
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    return bytes;
  } catch {
    const message = 'has a `data:` URL whose base64 has other characters, or is cut off. Send the whole file';
    throw new ImageError(message);
  }
}

/** Decodes the escapes of a URL, and replaces the two signs of base64url. @throws URIError */
const toPlainBase64 = (text: string): string =>
  (text.includes('%') ? decodeURIComponent(text) : text).replaceAll('-', '+').replaceAll('_', '/');
