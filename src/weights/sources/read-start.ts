import { isTransient, MIN_PROGRESS_BYTES, reach, TransientStatusError } from '#base';
import { answered } from '../download/download-errors.ts';
import { GATED, reading, unreadable } from './hub-source.ts';

const ADVICE = '. Download the file, and add it from this device';

/**
 * Reads the first bytes of a file on a server, and its size. Continues after a connection that broke. Cancels the
 * rest if the server ignores ranges.
 * @throws ServiceError
 */
export async function readStart(
  url: string,
  length: number,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; size: number }> {
  let bytes = new Uint8Array(0);
  let filled = 0;
  let size = 0;
  let receivedBytes = 0;
  await reading(
    url,
    signal,
    async (timeout) => {
      const headers = { range: `bytes=${filled}-${length - 1}` };
      const init = { headers, cache: 'no-store', signal: timeout.signal } as const;
      const response = await timeout.during(reach(url, init));
      const declared = await sizeOf(url, response, filled);
      if (response.status !== 206 || declared !== size) filled = 0;
      if (declared !== size) bytes = new Uint8Array(Math.min(length, declared));
      size = declared;
      const before = filled;
      for await (const part of timeout.body(response)) {
        bytes.set(part.subarray(0, bytes.length - filled), filled);
        filled = Math.min(bytes.length, filled + part.length);
        receivedBytes = Math.max(receivedBytes, filled);
        if (filled === bytes.length) break;
      }
      if (filled === bytes.length) return;
      if (filled - before < MIN_PROGRESS_BYTES)
        throw unreadable(url, `the server sends only ${filled - before} of the requested bytes${ADVICE}`);
      throw new Error(`the connection ended after ${filled} bytes`);
    },
    { receivedBytes: () => receivedBytes, advice: ADVICE },
  );
  return { bytes, size };
}

/**
 * Reads the file's size from the headers.
 * @param from first byte that was asked for
 * @throws ServiceError if the server refuses the file, hides its size, or sends another part
 */
async function sizeOf(url: string, response: Response, from: number): Promise<number> {
  const { status, headers } = response;
  const [, total] = new RegExp(`^bytes ${from}-\\d+/(\\d+)$`).exec(headers.get('content-range') ?? '') ?? [];
  // The length of a compressed response is not the file's size.
  const wholeLength = headers.has('content-encoding') ? null : headers.get('content-length');
  const size = Number(status === 206 ? total : wholeLength);
  if (response.ok && size > 0) return size;
  await response.body?.cancel().catch(() => undefined);
  if (isTransient(status)) throw new TransientStatusError(response);
  if (response.ok) throw unreadable(url, 'the server does not report its size, or sends another part of it');
  // The model hub gives a reason in a header.
  throw unreadable(url, headers.get('x-error-code') === 'GatedRepo' ? GATED : answered(status));
}
