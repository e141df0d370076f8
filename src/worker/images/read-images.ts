import { invalidField, type ServiceError, unsupported } from '../../errors/service-error.ts';
import type { ChatImage } from '../../jobs/chat.ts';
import { type ImageHeader, readImageHeader } from './image-header.ts';

/** In a request. */
const MAX_IMAGES = 16;
/** Of an encoded image. */
const MAX_BYTES = 20_000_000;
/** Of a decoded one. */
const MAX_PIXELS = 40_000_000;
const FETCH_MS = 20_000;

/** Fetches, checks and decodes a request's images, one after another. @throws ServiceError 400 that names the part */
export async function readImages<Decoded>(
  images: readonly ChatImage[],
  origins: readonly string[],
  decode: (bytes: Uint8Array<ArrayBuffer>, type: string) => Promise<Decoded>,
  signal: AbortSignal,
): Promise<Decoded[]> {
  const read: Decoded[] = [];
  const excess = images[MAX_IMAGES];
  if (excess) throw invalidField(excess.param, `is one image too many: a request may have ${MAX_IMAGES}`);
  for (const { url, param } of images) {
    signal.throwIfAborted();
    const bytes = url.startsWith('data:')
      ? decodeUrl(url, param)
      : await fetchImage(url, param, origins, signal);
    const header = checkImage(bytes, param);
    const decoded = await decode(bytes, header.type).catch(() => {
      throw invalidField(
        param,
        `is ${nameOf(header)} that this browser cannot decode. Send it as PNG or JPEG`,
      );
    });
    read.push(decoded);
  }
  signal.throwIfAborted();
  return read;
}

const nameOf = ({ type }: ImageHeader): string =>
  type === 'image/avif' ? 'an AVIF' : `a ${type.slice('image/'.length).toUpperCase()}`;

const tooLarge = (param: string): ServiceError =>
  invalidField(
    param,
    `is larger than ${MAX_BYTES / 1e6} MB, the most that an image may have. Send a smaller one`,
  );

/** @throws ServiceError 400 before anything is decoded */
export function checkImage(bytes: Uint8Array, param: string): ImageHeader {
  if (bytes.length > MAX_BYTES) throw tooLarge(param);
  const header = readImageHeader(bytes);
  if (!header)
    throw invalidField(
      param,
      'is no PNG, JPEG, WebP, GIF or AVIF, or is not whole. Send an image of these types',
    );
  const { width, height, whole } = header;
  if (width * height > MAX_PIXELS)
    throw invalidField(
      param,
      `has ${width} × ${height} pixels: ${MAX_PIXELS / 1e6} million is the most that an image may have. Send a smaller one`,
    );
  if (!whole) throw invalidField(param, `is ${nameOf(header)} that breaks off. Send the whole file`);
  return header;
}

/** @throws ServiceError 400 */
export function decodeUrl(url: string, param: string): Uint8Array<ArrayBuffer> {
  const comma = url.indexOf(',');
  const [, type, isBase64] =
    /^data:([^;,]*)(?:;[^;,]*)*?(;base64)?$/i.exec(url.slice(0, Math.min(comma, 200))) ?? [];
  if (comma < 0 || type === undefined || isBase64 === undefined)
    throw invalidField(param, 'has a `data:` URL that is not in base64. Use `data:image/png;base64,…`');
  if (!/^image\//i.test(type))
    throw invalidField(param, `is of the type ${JSON.stringify(type.slice(0, 60))}, which is no image`);
  // Before the text is decoded, which takes as much memory again.
  if (((url.length - comma) * 3) / 4 > MAX_BYTES + 3) throw tooLarge(param);
  try {
    return Uint8Array.from(atob(url.slice(comma + 1)), (character) => character.charCodeAt(0));
  } catch {
    throw invalidField(param, 'has a `data:` URL whose base64 is damaged. Send the whole file');
  }
}

/** @throws ServiceError 400; the signal's reason */
async function fetchImage(
  given: string,
  param: string,
  origins: readonly string[],
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const url = imageUrl(given, param, origins);
  const isOwn = url.origin === location.origin;
  try {
    const response = await fetch(url, {
      credentials: isOwn ? 'same-origin' : 'omit',
      // One could lead to another origin.
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw invalidField(param, `names an image for which its server answered ${response.status}`);
    }
    return await readBody(response, param);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Error && error.name === 'ServiceError') throw error;
    const cors = isOwn ? '' : ', or its server does not allow it to this site (CORS)';
    throw invalidField(
      param,
      `names an image that could not be fetched within ${FETCH_MS / 1000} s without a redirect${cors}`,
    );
  }
}

/** A prompt must not make the browser call a stranger. @throws ServiceError 400 */
export function imageUrl(
  given: string,
  param: string,
  origins: readonly string[],
  own = location.origin,
): URL {
  const url = URL.canParse(given, own) ? new URL(given, own) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw invalidField(param, 'must have a `data:` URL, or one that begins with https:// or http://');
  if (url.origin === own || origins.some((each) => URL.canParse(each) && new URL(each).origin === url.origin))
    return url;
  const rule = `is at ${url.origin.slice(0, 200)}: images are fetched from this site alone. Send it as a \`data:\` URL, or let the site allow that origin by \`start({ images: { origins } })\``;
  throw unsupported(param, rule);
}

async function readBody(response: Response, param: string): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || !value) return new Uint8Array(await new Blob(parts).arrayBuffer());
    length += value.length;
    if (length > MAX_BYTES) {
      void reader?.cancel().catch(() => {});
      throw tooLarge(param);
    }
    parts.push(value);
  }
}
