import { open, rm, stat } from 'node:fs/promises';

import { IdleTimeout, isTransient, TransientStatusError, withRetries } from '#base';
import { DEFAULT_HUB } from '#weights/hub';
import { isFileError } from '../../files.ts';
import { PullError, webUrl } from '../arguments.ts';
import { describeFetchError } from '../fetch-error.ts';
import type { HubFile } from './sources.ts';

const PROBE_TIMEOUT_MS = 4_000;

/** The model hub's address, or that of a mirror. @throws CommandError */
export function hubEndpoint(): string {
  const hub = process.env['HF_ENDPOINT'] || DEFAULT_HUB;
  webUrl(hub, undefined, 'HF_ENDPOINT takes one that begins with https:// or http://.');
  return hub;
}

export const hubUrl = (hub: string, { repository, revision, file }: HubFile): string =>
  `${hub.replace(/\/$/, '')}/${repository}/resolve/${revision}/${file}`;

/** Checks the hub. @returns null when it answers, else why it is not available */
export async function probeHub(hub: string, signal: AbortSignal): Promise<string | null> {
  try {
    const ends = AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]);
    await fetch(hub, { method: 'HEAD', signal: ends });
    return null;
  } catch (error) {
    signal.throwIfAborted();
    return describeFetchError(error);
  }
}

export interface Download {
  url: string;
  /** The target file. */
  part: string;
  totalBytes: number;
  onProgress?: (bytes: number) => void;
  signal: AbortSignal;
}

/**
 * Downloads into `part`, continuing after the bytes that it has, also when a connection is cut.
 * @returns whether the file begins with the bytes of an earlier answer
 */
export async function download(wanted: Download): Promise<boolean> {
  const { part, signal, onProgress } = wanted;
  const startBytes = await sizeOf(part);
  let storedBytes = startBytes;
  const counting = (bytes: number): void => {
    storedBytes = Math.max(storedBytes, bytes);
    onProgress?.(bytes);
  };
  try {
    return await withRetries(() => downloadRest({ ...wanted, onProgress: counting }), {
      signal,
      arrivedBytes: () => storedBytes - startBytes,
      isFinal,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw isFinal(error) ? error : new PullError(describeFetchError(error));
  }
}

/** Whether another attempt would fail in the same way. */
const isFinal = (error: unknown): boolean => error instanceof PullError || isFileError(error);

async function downloadRest({ url, part, totalBytes, onProgress, signal }: Download): Promise<boolean> {
  if ((await sizeOf(part)) > totalBytes) await rm(part);
  const offset = await sizeOf(part);
  if (offset === totalBytes) return true;
  const timeout = new IdleTimeout(signal);
  // Opened first: bytes that arrive before the connection breaks are lost unless they are read immediately.
  const file = await open(part, 'a');
  try {
    const headers: Record<string, string> = offset > 0 ? { range: `bytes=${offset}-` } : {};
    const response = await timeout.during(fetch(url, { signal: timeout.signal, headers }));
    if (isTransient(response.status)) throw new TransientStatusError(response);
    if (!response.ok) throw new PullError(`${url} answered ${response.status}`);
    // A proxy's page that blocks the download or asks to sign in.
    if (/^text\/html\b/i.test(response.headers.get('content-type') ?? ''))
      throw new PullError(`${url} answered with a page of HTML instead of the file`);
    const resumed = response.status === 206;
    if (offset > 0 && !resumed) await file.truncate();
    let bytes = resumed ? offset : 0;
    for await (const chunk of timeout.body(response)) {
      bytes += chunk.length;
      if (bytes > totalBytes) throw new PullError(`${url} is longer than the ${totalBytes} bytes expected`);
      await file.writeFile(chunk);
      onProgress?.(bytes);
    }
    if (bytes < totalBytes) throw new Error(`the connection ended after ${bytes} of ${totalBytes} bytes`);
    return resumed;
  } finally {
    await file.close();
  }
}

export const sizeOf = (path: string): Promise<number> => stat(path).then(({ size }) => size, () => 0); // prettier-ignore
