import { serverError, type ServiceError } from '../../errors/service-error.ts';
import { GATED } from './hub-source.ts';

/** The first bytes of a file on a server, and its size. Servers that know no ranges are stopped in time. @throws ServiceError */
export async function readStart(
  url: string,
  length: number,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; size: number }> {
  let response: Response;
  try {
    response = await fetch(url, { headers: { range: `bytes=0-${length - 1}` }, cache: 'no-store', signal });
  } catch (error) {
    signal.throwIfAborted();
    throw unavailable(
      url,
      "the connection failed, or the server (CORS) or this page's Content-Security-Policy (connect-src) does not allow it. Download the file, and add it from this device",
      error,
    );
  }
  const [, total] = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? [];
  const size = Number(response.status === 206 ? total : response.headers.get('content-length'));
  const reader = response.body?.getReader();
  try {
    if (!response.ok) throw unavailable(url, refusalOf(response));
    if (!(size > 0)) throw unavailable(url, 'the server does not tell its size');
    const bytes = new Uint8Array(Math.min(length, size));
    for (let filled = 0; filled < bytes.length;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) return { bytes: bytes.subarray(0, filled), size };
      bytes.set(value.subarray(0, bytes.length - filled), filled);
      filled += value.length;
    }
    return { bytes, size };
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

/** Why a server sent no file, as a phrase. The model hub explains its status in a header. */
function refusalOf({ status, headers }: Pick<Response, 'status' | 'headers'>): string {
  if (headers.get('x-error-code') === 'GatedRepo') return GATED;
  return `the server answered ${status}`;
}

const unavailable = (url: string, why: string, cause?: unknown): ServiceError =>
  serverError('weights_unavailable', `${url} could not be read: ${why}. Nothing was stored.`, cause);
