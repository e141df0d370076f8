import type { WeightFile } from '../../catalog/catalog.ts';
import { delay } from '../abort.ts';
import { EngineError } from '../engine-error.ts';
import { hashBlob, sha256, type Hash } from './hash.ts';
import type { Shelf } from './shelf.ts';

/** Tries of one file; each goes on where the one before broke off. */
const TRIES = 4;
const FIRST_PAUSE_MS = 500;

export interface DownloadOptions {
  url: string;
  /** Under which the bytes lie on the shelf. */
  name: string;
  signal: AbortSignal;
  onProgress(loadedBytes: number): void;
}

/** Brings a file onto the shelf, going on from what is there, and checks its hash. */
export async function download(shelf: Shelf, file: WeightFile, options: DownloadOptions): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await downloadOnce(shelf, file, options);
      return;
    } catch (error) {
      options.signal.throwIfAborted();
      if (attempt === TRIES || error instanceof EngineError) throw failed(file, error);
      await delay(FIRST_PAUSE_MS * 2 ** (attempt - 1), options.signal);
    }
  }
}

async function downloadOnce(shelf: Shelf, file: WeightFile, options: DownloadOptions): Promise<void> {
  const { hash, start, response } = await begin(shelf, file, options);
  if (start < file.bytes) {
    if (!response?.body) throw new Error('the answer has no body');
    const writer = await shelf.write(options.name, start);
    let loaded = start;
    try {
      for await (const bytes of response.body) {
        if (loaded + bytes.length > file.bytes) throw wrong(file, 'is longer than the catalog says');
        await writer.write(bytes);
        hash.update(bytes);
        loaded += bytes.length;
        options.onProgress(loaded);
      }
    } finally {
      await writer.close();
    }
    if (loaded < file.bytes) throw new Error(`the connection ended after ${loaded} of ${file.bytes} bytes`);
  }
  if (hash.digest() !== file.sha256) {
    await shelf.remove(options.name);
    throw wrong(file, 'does not have the SHA-256 that the catalog says');
  }
}

/** Where to go on: behind the part on the shelf, when the server can; its bytes are hashed first. */
async function begin(
  shelf: Shelf,
  file: WeightFile,
  options: DownloadOptions,
): Promise<{ hash: Hash; start: number; response: Response | null }> {
  const hash = await sha256();
  const part = await shelf.read(options.name);
  const have = part && part.size <= file.bytes ? part.size : 0;
  if (part && have === file.bytes) {
    await hashBlob(hash, part, options.signal);
    return { hash, start: have, response: null };
  }
  const response = await fetch(options.url, {
    signal: options.signal,
    // The store is the only copy: the HTTP cache would keep another.
    cache: 'no-store',
    headers: have > 0 ? { range: `bytes=${have}-` } : {},
  });
  if (
    response.status === 206 &&
    part &&
    response.headers.get('content-range')?.startsWith(`bytes ${have}-`)
  ) {
    await hashBlob(hash, part, options.signal);
    return { hash, start: have, response };
  }
  if (response.status === 200) return { hash, start: 0, response };
  await response.body?.cancel();
  if (response.status === 206 || response.status === 416) {
    await shelf.remove(options.name);
    throw new Error('the server answered another range than was asked for');
  }
  throw new EngineError({
    code: 'weights_unavailable',
    message: `The weight file ${file.path} could not be had: the server answered ${response.status}. Put the model's files into the site's models folder, or name another folder.`,
  });
}

function wrong(file: WeightFile, how: string): EngineError {
  return new EngineError({
    code: 'weights_corrupt',
    message: `The weight file ${file.path} ${how} (${file.bytes} bytes, SHA-256 ${file.sha256.slice(0, 12)}…). Bring the right file to the models folder, or mend the catalog.`,
  });
}

function failed(file: WeightFile, error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  if (error instanceof DOMException && error.name === 'QuotaExceededError') {
    return new EngineError(
      {
        code: 'storage_full',
        message: `The browser's storage is full: ${file.path} (${file.bytes} bytes) did not fit. Free space, or delete other sites' data.`,
      },
      error,
    );
  }
  return new EngineError(
    {
      code: 'weights_unavailable',
      message: `The weight file ${file.path} could not be downloaded. Check the connection and try again: what has come is kept.`,
    },
    error,
  );
}
