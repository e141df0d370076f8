import type { WeightFile } from '../../catalog/catalog.ts';
import { EngineError } from '../../protocol/engine-error.ts';
import { TransientStatusError, WrongRangeError } from './retry.ts';
import { IdleTimeoutError } from './idle-timeout.ts';

export function unavailable({ path }: WeightFile, status: number): EngineError {
  return new EngineError({
    code: 'weights_unavailable',
    message: `The weight file ${path} could not be downloaded: the server answered ${status}. Put the model's files into the site's models folder, or name another folder.`,
  });
}

export function webPage({ path }: WeightFile, status: number): EngineError {
  return new EngineError({
    code: 'weights_unavailable',
    message: `The server answered a web page (HTML, status ${status}) instead of the weight file ${path}. Check the address of the models folder. A host that answers every unknown address with its start page must answer 404 for missing files; a network that requires a sign-in may also answer so.`,
  });
}

export function wrongHash(file: WeightFile): EngineError {
  return corrupt(file, 'does not have the SHA-256 that the catalog says');
}

export function sizeDiffers(file: WeightFile, how: string): EngineError {
  return corrupt(file, `${how}, which is not what the catalog says`);
}

function corrupt(file: WeightFile, how: string): EngineError {
  return new EngineError({
    code: 'weights_corrupt',
    message: `The weight file ${file.path} ${how} (${file.bytes} bytes, SHA-256 ${file.sha256.slice(0, 12)}…). Put the right file into the models folder, or correct the catalog.`,
  });
}

/** @param needed 0: the bytes are all there. @param free null: less than is needed, and the browser does not tell how much */
export function storageFull(needed: number, free: number | null, deletable: readonly string[]): EngineError {
  const allowed =
    free === null ? "the browser's storage is full" : `the browser lets this site store ${Math.max(0, free)}`;
  const why =
    needed > 0
      ? `${needed} bytes more are needed, and ${allowed}.`
      : "The browser's storage is full: the weights are here, and no record of them fits.";
  const which =
    deletable.length > 0
      ? `These models could be deleted: ${deletable.join(', ')}.`
      : 'No model can be deleted.';
  return new EngineError({
    code: 'storage_full',
    message: `${why} ${which} Or free space on the device, or use a smaller model.`,
  });
}

/** Browsers throw it from opening, writing, growing, flushing and closing a file, and from a cache's `put()`. */
export const isQuotaError = (error: unknown): boolean =>
  error instanceof Error && error.name === 'QuotaExceededError';

/** What a write failed of, when the storage was full; anything else stays as it is. @param what did not fit */
export function asStorageFull(error: unknown, what: string): unknown {
  if (!isQuotaError(error)) return error;
  return new EngineError(
    {
      code: 'storage_full',
      message: `The browser's storage is full: ${what} did not fit. Delete a model that is not needed, or free space on the device.`,
    },
    error,
  );
}

export function downloadFailed(file: WeightFile, error: unknown, keptBytes: number): EngineError {
  const full = asStorageFull(error, `${file.path} (${file.bytes} bytes)`);
  if (full instanceof EngineError) return full;
  return new EngineError(
    {
      code: 'weights_unavailable',
      message: `The weight file ${file.path} could not be downloaded: ${reason(error)}, several times in a row. ${keptBytes} of its ${file.bytes} bytes are stored and kept. Check the connection and try again.`,
    },
    error,
  );
}

function reason(error: unknown): string {
  if (error instanceof IdleTimeoutError) return `the server sent nothing for ${error.seconds} s`;
  if (error instanceof TransientStatusError || error instanceof WrongRangeError) return error.message;
  if (error instanceof DOMException) return `the browser's storage failed (${error.name})`;
  return 'the connection broke';
}
