import { formatBytes, type WeightFile } from '#catalog';
import {
  ConnectionError,
  corruptFile,
  isQuotaError,
  PRIVATE_WINDOW,
  printable,
  serverError,
  ServiceError,
} from '#base';

const BROKEN_PROXY = 'a proxy or the server is misconfigured. Try another network, or tell the site';

/** Causes of a status that the models folder has nothing to do with. */
const CAUSES: Partial<Record<number, string>> = {
  206: `That is a part of the file, although the whole was requested: ${BROKEN_PROXY}`,
  304: `That refers to a cached copy, although none was offered: ${BROKEN_PROXY}`,
  511: 'The network requires a sign-in. Open any web page, sign in, and try again',
};

/** Describes a failed request, as a phrase. @param advice what to do about other statuses */
export function answered(status: number, advice?: string): string {
  const cause = CAUSES[status] ?? advice;
  return `the server answered ${status}${cause === undefined ? '' : `. ${cause}`}`;
}

export function unavailable({ path }: WeightFile, status: number): ServiceError {
  const message = `The weight file ${path} could not be downloaded: ${answered(status, "Put the model's files into the site's models folder (npx localtext pull, followed by the model's id), or name another folder")}.`;
  return serverError('weights_unavailable', message);
}

export function lostFile({ bytes }: WeightFile, { name, at }: { name: string; at: number }): ServiceError {
  const message = `The file ${printable(name)} (${formatBytes(bytes)}), added from this device on ${new Date(at).toISOString().slice(0, 10)}, was deleted or damaged in this browser's storage. Add the same file again, or remove the model.`;
  return serverError('weights_unavailable', message);
}

export function webPage({ path }: WeightFile, status: number): ServiceError {
  const message = `The server answered a web page (HTML, status ${status}) instead of the weight file ${path}. Check the address of the models folder. A host that answers every unknown address with its start page must answer 404 for missing files; a network that requires a sign-in may also answer so.`;
  return serverError('weights_unavailable', message);
}

export const wrongHash = (file: WeightFile): ServiceError =>
  corrupt(file, 'does not have the SHA-256 that the catalog says');

export const sizeDiffers = (file: WeightFile, how: string): ServiceError =>
  corrupt(file, `${how}, which is not what the catalog says`);

const corrupt = ({ path, bytes, sha256 }: WeightFile, how: string): ServiceError =>
  corruptFile(path, `${how} (${bytes} bytes, SHA-256 ${sha256.slice(0, 12)}…)`);

/** @param needed missing bytes; 0 if all are stored @param free free bytes; null if unknown, but too few */
export function storageFull(needed: number, free: number | null, deletable: readonly string[]): ServiceError {
  const allowed =
    free === null ? "the browser's storage is full" : `the browser lets this site store ${Math.max(0, free)}`;
  const why =
    needed > 0
      ? `${needed} bytes more are needed, and ${allowed}.`
      : "The browser's storage is full: the weights are here, and no record of them fits.";
  const which =
    deletable.length > 0
      ? `These models could be deleted: ${deletable.join(', ')}. Delete one, free`
      : `No model can be deleted. ${PRIVATE_WINDOW} Free`;
  return serverError('storage_full', `${why} ${which} space on the device, or use a smaller model.`);
}

/** Translates an error of a write to `storage_full` if the storage is full. @param what what did not fit */
export function asStorageFull(error: unknown, what: string): unknown {
  const message = `The browser's storage is full: ${what} did not fit. Delete a model that is not needed, or free space on the device.`;
  return isQuotaError(error) ? serverError('storage_full', message, error) : error;
}

/** Continues if there is no space for a note: the weights' own writes show whether they fit. */
export async function unlessFull(writing: Promise<void>): Promise<void> {
  await writing.catch((error: unknown) => {
    if (!isStorageFull(error)) throw error;
  });
}

export const isStorageFull = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'storage_full';

export const didNotFit = ({ path, bytes }: WeightFile, error: unknown): unknown =>
  asStorageFull(error, `${path} (${bytes} bytes)`);

export function downloadFailed(file: WeightFile, error: unknown, keptBytes: number): unknown {
  if (error instanceof ServiceError || isQuotaError(error)) return didNotFit(file, error);
  const message = `The weight file ${file.path} could not be downloaded: ${reason(error)}, several times in a row. ${keptBytes} of its ${file.bytes} bytes are stored and kept. Check the connection and try again.`;
  return serverError('weights_unavailable', message, error);
}

function reason(error: unknown): string {
  if (error instanceof ConnectionError) return error.message;
  if (error instanceof DOMException) return `the browser's storage failed (${error.name})`;
  return 'the connection broke';
}
