import { serverError, IdleTimeout, IdleTimeoutError, UNREACHABLE, type ServiceError } from '#base';
import { GATED } from './hub-source.ts';

/**
 * Reads the first bytes of a file on a server, and its size. Cancels the rest if the server ignores ranges.
 * @throws ServiceError
 */
export async function readStart(
  url: string,
  length: number,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; size: number }> {
  const timeout = new IdleTimeout(signal);
  const init = {
    headers: { range: `bytes=0-${length - 1}` },
    cache: 'no-store',
    signal: timeout.signal,
  } as const;
  const fail = (error: unknown): never => {
    signal.throwIfAborted();
    const why = error instanceof IdleTimeoutError ? error.message : `${UNREACHABLE}. ${ADVICE}`;
    throw fileUnavailable(url, why, error);
  };
  const response = await timeout.during(fetch(url, init)).catch(fail);
  const [, total] = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? [];
  // The length of a compressed response is not the file's size.
  const wholeLength = response.headers.has('content-encoding')
    ? null
    : response.headers.get('content-length');
  const size = Number(response.status === 206 ? total : wholeLength);
  const why = !response.ok ? refusalOf(response) : size > 0 ? null : 'the server does not report its size';
  if (why !== null) {
    await response.body?.cancel().catch(() => undefined);
    throw fileUnavailable(url, why);
  }
  const bytes = new Uint8Array(Math.min(length, size));
  let filled = 0;
  try {
    for await (const part of timeout.body(response)) {
      bytes.set(part.subarray(0, bytes.length - filled), filled);
      filled += part.length;
      if (filled >= bytes.length) break;
    }
  } catch (error) {
    fail(error);
  }
  return { bytes: bytes.subarray(0, filled), size };
}

const ADVICE = 'Download the file, and add it from this device';

/** Explains an error status, as a phrase. The model hub gives a reason in a header. */
function refusalOf({ status, headers }: Pick<Response, 'status' | 'headers'>): string {
  if (headers.get('x-error-code') === 'GatedRepo') return GATED;
  return `the server answered ${status}`;
}

const fileUnavailable = (url: string, why: string, cause?: unknown): ServiceError =>
  serverError('weights_unavailable', `${url} could not be read: ${why}. Nothing was stored.`, cause);
