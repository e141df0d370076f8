import { checkImage } from '#images';
import { withTrustedWorkers } from '#browser';
import { bytes } from '../format.ts';
import { MAX_PICTURE_BYTES, MAX_SIDE, PICTURE_TYPES, type Picture } from './picture.ts';
import type { Shrunk } from './picture-worker.ts';

/** Maximum size of a file that is read. */
const MAX_FILE_BYTES = 20_000_000;
const DECODE_TIMEOUT_MS = 10_000;

/** The file unchanged, or shrunk if it is larger than models accept. @throws Error that says why there is none */
export async function toPicture(file: File): Promise<Picture> {
  const name = file.name || 'picture';
  if (!PICTURE_TYPES.includes(file.type))
    throw new Error(`${name} is no PNG, JPEG, WebP or GIF. Save it as one of these.`);
  if (file.size > MAX_FILE_BYTES)
    throw new Error(`${name} has more than ${bytes(MAX_FILE_BYTES)}. Choose a smaller one.`);
  const { blob, fault } = await shrinkInWorker(file);
  if (fault !== null) throw new Error(`${name} ${fault}.`);
  return { name, blob };
}

/** One worker per file, which is terminated if the file takes too long. */
async function shrinkInWorker(file: File): Promise<Shrunk> {
  const worker = withTrustedWorkers(
    () => new Worker(new URL('./picture-worker.ts', import.meta.url), { type: 'module' }),
  );
  const signal = AbortSignal.timeout(DECODE_TIMEOUT_MS);
  try {
    return await new Promise((resolve) => {
      const fail = () => resolve({ blob: null, fault: 'could not be decoded. Choose a smaller one' });
      worker.onmessage = ({ data }: MessageEvent<Shrunk>) => resolve(data);
      worker.onerror = fail;
      signal.addEventListener('abort', fail);
      worker.postMessage(file);
    });
  } finally {
    worker.terminate();
  }
}

/** Whether a stored or imported picture is no larger than this page keeps them: it is shown without a worker. */
export async function isSmall({ blob }: Picture): Promise<boolean> {
  try {
    if (blob.size > MAX_PICTURE_BYTES) return false;
    const { width, height } = checkImage(new Uint8Array(await blob.arrayBuffer()));
    return Math.max(width, height) <= MAX_SIDE;
  } catch {
    return false;
  }
}
