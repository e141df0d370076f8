import { serverError, type ServiceError } from '../../errors/service-error.ts';
import { IdleTimeout, IdleTimeoutError, UNREACHABLE } from '../download/retry.ts';
import { GATED } from './hub-source.ts';

/** The first bytes of a file on a server, and its size. Servers that know no ranges are stopped in time. @throws ServiceError */
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
    const why = error instanceof IdleTimeoutError ? error.message : `${UNREACHABLE}. ${WAY}`;
    throw fileUnavailable(url, why, error);
  };
  const response = await timeout.during(fetch(url, init)).catch(fail);
  const [, total] = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? [];
  // The length of a compressed answer is another.
  const wholeLength = response.headers.has('content-encoding')
    ? null
    : response.headers.get('content-length');
  const size = Number(response.status === 206 ? total : wholeLength);
  const why = !response.ok ? refusalOf(response) : size > 0 ? null : 'the server does not tell its size';
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

const WAY = 'Download the file, and add it from this device';

/** Why a server sent no file, as a phrase. The model hub explains its status in a header. */
function refusalOf({ status, headers }: Pick<Response, 'status' | 'headers'>): string {
  if (headers.get('x-error-code') === 'GatedRepo') return GATED;
  return `the server answered ${status}`;
}

const fileUnavailable = (url: string, why: string, cause?: unknown): ServiceError =>
  serverError('weights_unavailable', `${url} could not be read: ${why}. Nothing was stored.`, cause);
