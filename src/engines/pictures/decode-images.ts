import type { Remote } from 'comlink';

import { invalidField, abortable, Mutex } from '#base';
import type { ChatImage } from '#jobs';
import { RestartableHelper } from '#engine-kit';
import type { Decoded, imageWorker } from './image-worker.ts';

/** Time limit for one image. */
const DECODE_TIMEOUT_MS = 10_000;
/** Time after which an idle decoder is ended, to free its memory. */
const IDLE_MS = 10_000;

const NOT_DECODED = `could not be decoded within ${DECODE_TIMEOUT_MS / 1000} s and the browser's memory. Send it as PNG or JPEG, or a smaller one`;

/** Shared by all models, so that only one image is decoded at a time. */
const decoder = new RestartableHelper<typeof imageWorker>('image');
let idle: ReturnType<typeof setTimeout> | undefined;
const mutex = new Mutex();

/**
 * Decodes a request's images, already fetched, in a worker that is ended if an image takes too long.
 * @throws ServiceError 400 that names the part; the signal's reason
 */
export async function decodeImages<Image>(
  images: readonly ChatImage[],
  decode: (worker: Remote<typeof imageWorker>, image: Blob | string) => Promise<Decoded<Image>>,
  signal: AbortSignal,
): Promise<Image[]> {
  const decoded: Image[] = [];
  for (const { file, url, param } of images) {
    const timeoutMs = DECODE_TIMEOUT_MS;
    const toError = (): Error => invalidField(param, NOT_DECODED);
    const decoding = mutex.run(async () => {
      signal.throwIfAborted();
      clearTimeout(idle);
      return decoder
        .call((worker) => decode(worker, file ?? url), { timeoutMs, toError, signal })
        .finally(() => (idle = setTimeout(() => decoder.stop(), IDLE_MS)));
    });
    const { image, fault } = await abortable(decoding, signal);
    if (fault !== null) throw invalidField(param, fault);
    decoded.push(image);
  }
  return decoded;
}
