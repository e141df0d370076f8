import type { Remote } from 'comlink';

import { invalidField, ServiceError } from '../../errors/service-error.ts';
import type { ChatImage } from '../../jobs/chat.ts';
import { abortable, Mutex, withTimeout } from '../../util/async.ts';
import { ModelWorker } from '../model-worker.ts';
import type { Decoded, imageWorker } from './image-worker.ts';

const START_TIMEOUT_MS = 20_000;
/** Time limit of one image. */
const DECODE_TIMEOUT_MS = 10_000;
/** The memory of a decoder without work is freed. */
const IDLE_MS = 10_000;

type RemoteDecoder = Remote<typeof imageWorker>;
type Worker = ModelWorker<typeof imageWorker>;

/** One worker for all models: memory holds one decoded image at a time. */
let worker: Worker | null = null;
let idle: ReturnType<typeof setTimeout> | undefined;
const turns = new Mutex();

/**
 * Decodes a request's images, which have been fetched, in a worker that ends with an image that takes too long.
 * @throws ServiceError 400 that names the part; the signal's reason
 */
export async function decodeImages<Image>(
  images: readonly ChatImage[],
  decode: (decoder: RemoteDecoder, source: Blob | string) => Promise<Decoded<Image>>,
  signal: AbortSignal,
): Promise<Image[]> {
  const decoded: Image[] = [];
  for (const { file, url, param } of images) {
    const turn = turns.run(() => decodeOne((decoder) => decode(decoder, file ?? url), signal));
    const { image, fault } = await abortable(turn, signal);
    if (fault !== null) throw invalidField(param, fault);
    decoded.push(image);
  }
  return decoded;
}

async function decodeOne<Image>(
  decode: (decoder: RemoteDecoder) => Promise<Decoded<Image>>,
  signal: AbortSignal,
): Promise<Decoded<Image>> {
  signal.throwIfAborted();
  clearTimeout(idle);
  try {
    worker ??= await start(signal);
    const decoded = await abortable(withTimeout(worker.call(decode), DECODE_TIMEOUT_MS), signal);
    if (!decoded) throw new Error('the time limit');
    return decoded;
  } catch (error) {
    end();
    signal.throwIfAborted();
    if (error instanceof ServiceError && error.code === 'worker_blocked') throw error;
    const fault = `could not be decoded within ${DECODE_TIMEOUT_MS / 1000} s and the browser's memory. Send it as PNG or JPEG, or a smaller one`;
    return { image: null, fault };
  } finally {
    idle = setTimeout(end, IDLE_MS);
  }
}

const start = (signal: AbortSignal): Promise<Worker> =>
  ModelWorker.open<typeof imageWorker>(
    'image',
    async () => undefined,
    AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MS)]),
  );

function end(): void {
  worker?.end();
  worker = null;
}
