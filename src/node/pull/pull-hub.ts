import { createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { isFileError } from '../files.ts';
import { PullError } from './pull-error.ts';
import type { HubFile } from './sources.ts';

const PROBE_TIMEOUT_MS = 4_000;
/** A connection on which nothing comes for this long is cut, and taken up again. */
const STALL_TIMEOUT_MS = 30_000;
const ATTEMPTS = 5;

export function hubUrl(hub: string, { repository, revision, file }: HubFile): string {
  return `${hub.replace(/\/$/, '')}/${repository}/resolve/${revision}/${file}`;
}

/** Null when the hub answers, else why it is not available. */
export async function probeHub(hub: string, signal: AbortSignal): Promise<string | null> {
  try {
    await fetch(hub, {
      method: 'HEAD',
      signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]),
    });
    return null;
  } catch (error) {
    signal.throwIfAborted();
    return reason(error);
  }
}

/** Downloads into `part`, going on from the bytes that it already has; a cut connection is taken up again. */
export async function download(
  url: string,
  part: string,
  totalBytes: number,
  onProgress: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const before = await sizeOf(part);
    try {
      await downloadRest(url, part, totalBytes, onProgress, signal);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof PullError || isFileError(error)) throw error;
      const cameForward = (await sizeOf(part)) > before;
      if (cameForward) attempt = 0;
      else if (attempt >= ATTEMPTS) throw new PullError(reason(error));
      await delay(Math.min(250 * 2 ** attempt, 5_000), signal);
    }
  }
}

async function downloadRest(
  url: string,
  part: string,
  totalBytes: number,
  onProgress: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  let offset = await sizeOf(part);
  if (offset > totalBytes) {
    await rm(part);
    offset = 0;
  }
  if (offset === totalBytes) return;
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(new Error('the connection stalled')), STALL_TIMEOUT_MS);
  try {
    const either = AbortSignal.any([signal, stalled.signal]);
    const response = await fetch(url, {
      signal: either,
      ...(offset > 0 && { headers: { range: `bytes=${offset}-` } }),
    });
    if (response.status >= 500) throw new Error(`status ${response.status}`);
    if (!response.ok || response.body === null) throw new PullError(`${url} answered ${response.status}`);
    const resumed = response.status === 206;
    let bytes = resumed ? offset : 0;
    const counter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        timer.refresh();
        bytes += chunk.length;
        onProgress(bytes);
        if (bytes > totalBytes) done(new PullError(`${url} is longer than the ${totalBytes} bytes expected`));
        else done(null, chunk);
      },
    });
    const body = Readable.from(response.body);
    await pipeline(body, counter, createWriteStream(part, { flags: resumed ? 'a' : 'w' }), {
      signal: either,
    });
    if (bytes < totalBytes) throw new Error(`the connection ended after ${bytes} of ${totalBytes} bytes`);
  } finally {
    clearTimeout(timer);
  }
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    (stats) => stats.size,
    () => 0,
  );
}

/** undici says only "fetch failed"; what failed is in the cause. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error)
    return 'code' in cause ? `${error.message}: ${String(cause.code)}` : cause.message;
  return error.message;
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve();
    }
    signal.addEventListener('abort', done);
  });
}
