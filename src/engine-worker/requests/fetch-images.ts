import { checkImage, IMAGE_TOO_LARGE, ImageError, MAX_IMAGE_BYTES } from '#images';
import { invalidField, ServiceError, unsupported, readStream } from '#base';
import type { ChatImage } from '#jobs';

/** Maximum number of images in a request. */
const MAX_IMAGES = 16;
/** Maximum total size of the images that a request fetches: they are in this worker's memory at once. */
const MAX_FETCHED_BYTES = 80_000_000;
/** Maximum characters of a URL. */
const MAX_URL = 8192;
/** A URL, or a path of this site. Some clients send base64 without `data:`, that of a JPEG begins like a path. */
const ADDRESS = /^(?:https?:\/\/|\/(?!9j\/))/i;
/** Time limit for all images of a request. */
const FETCH_MS = 20_000;

/**
 * Fetches the files of a job's images in parallel, and sets them in the images, before the job takes a slot: a slow
 * server must not hold one. The browser keeps the files outside this worker's memory. An image with a `data:` URL stays
 * as it is.
 * @throws ServiceError 400 that names the part; the signal's reason
 */
export async function fetchImages(
  images: readonly ChatImage[],
  origins: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const excess = images[MAX_IMAGES];
  if (excess) throw invalidField(excess.param, `is one image too many: a request may have ${MAX_IMAGES}`);
  const remote = images.filter(({ url }) => !/^data:/i.test(url));
  const failed = new AbortController();
  const until = AbortSignal.any([signal, failed.signal, AbortSignal.timeout(FETCH_MS)]);
  let fetchedBytes = 0;
  const count = (bytes: number): void => {
    fetchedBytes += bytes;
    if (fetchedBytes > MAX_FETCHED_BYTES) throw new ImageError(TOO_MANY_BYTES);
  };
  try {
    const fetchFile = async (image: ChatImage): Promise<void> => {
      image.file = await fetchImage(image, origins, count, until);
    };
    await Promise.all(remote.map(fetchFile));
  } catch (error) {
    failed.abort(error);
    signal.throwIfAborted();
    throw error;
  }
}

const TOO_MANY_BYTES = `exceeds ${MAX_FETCHED_BYTES / 1e6} MB, the limit for all images that a request fetches. Send fewer or smaller ones`;

/** @param count counts bytes, and throws if all images together exceed the limit. @throws ServiceError 400 */
async function fetchImage(
  { url: given, param }: ChatImage,
  origins: readonly string[],
  count: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Blob> {
  const url = imageUrl(given, param, origins);
  const isOwn = url.origin === location.origin;
  try {
    const response = await fetch(url, {
      credentials: isOwn ? 'same-origin' : 'omit',
      // A redirect could lead to an unlisted origin.
      redirect: 'error',
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw invalidField(param, `names an image for which its server answered ${response.status}`);
    }
    return await readBody(response, count, signal);
  } catch (error) {
    if (error instanceof ImageError) throw invalidField(param, error.message);
    if (error instanceof ServiceError) throw error;
    const cors = isOwn ? '' : ', or its server does not allow it to this site (CORS)';
    const rule = `names an image that could not be fetched within ${FETCH_MS / 1000} s without a redirect${cors}`;
    throw invalidField(param, rule);
  }
}

const MUST_BE =
  'must have a URL that begins with `data:image/png;base64,` (or another image type), https:// or http://, or a path of this site that begins with /';

/** Checks an image's URL: a prompt must not trigger requests to unlisted origins. @throws ServiceError 400 */
export function imageUrl(given: string, param: string, origins: readonly string[]): URL {
  const siteOrigin = location.origin;
  const canParse = given.length <= MAX_URL && ADDRESS.test(given) && URL.canParse(given, siteOrigin);
  const url = canParse ? new URL(given, siteOrigin) : null;
  if (!url || url.username || url.password) throw invalidField(param, MUST_BE);
  if (
    url.origin === siteOrigin ||
    origins.some((each) => URL.canParse(each) && new URL(each).origin === url.origin)
  )
    return url;
  const rule = `is at ${url.origin.slice(0, 200)}: images are fetched from this site alone. Send it as a \`data:\` URL, or let the site allow that origin by \`start({ images: { origins } })\``;
  throw unsupported(param, rule);
}

/** Reads a response as an image. @throws ImageError if it is not an image, or exceeds a limit */
async function readBody(
  { body }: Response,
  count: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Blob> {
  const tooLarge = (): ImageError => new ImageError(IMAGE_TOO_LARGE);
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      count(chunk.length);
      controller.enqueue(chunk);
    },
  });
  const stream = body?.pipeThrough(counted);
  const bytes = stream ? await readStream(stream, MAX_IMAGE_BYTES, tooLarge, signal) : new Uint8Array();
  checkImage(bytes);
  return new Blob([bytes]);
}
