import type { WeightFile } from '#catalog';
import {
  dropBody,
  isTransient,
  reach,
  TransientStatusError,
  UnreachableError,
  type IdleTimeout,
} from '#base';
import { sizeDiffers, unavailable, webPage } from './download-errors.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Range of bytes; `to` is exclusive. */
interface ByteRange {
  from: number;
  to: number;
}

/** Thrown if the whole file must be requested, as the server's answer to a range is wrong. */
export class UnusableRangeError extends Error {}

/**
 * Requests a range of a file.
 * @param range null for the whole file
 * @param mayRetry whether the whole file may be requested instead
 * @throws as `checkResponse()`
 */
export async function requestPart(
  file: WeightFile,
  url: string,
  range: ByteRange | null,
  timeout: IdleTimeout,
  mayRetry: () => boolean,
): Promise<Response> {
  const ask = (asked: ByteRange | null): Promise<Response> =>
    timeout.during(
      reach(url, {
        signal: timeout.signal,
        // The HTTP cache must not keep a second copy.
        cache: 'no-store',
        headers: asked ? { range: `bytes=${asked.from}-${asked.to - 1}` } : {},
      }),
    );
  let asked = range;
  const response = await ask(range).catch((error: unknown) => {
    if (!range || !mayRetry() || !(error instanceof UnreachableError)) throw error;
    // Chromium rejects a compressed answer to a range as if there were none.
    asked = null;
    return ask(asked);
  });
  try {
    checkResponse(file, response, asked);
  } catch (error) {
    dropBody(response);
    throw error;
  }
  return response;
}

/**
 * Checks a response, before any of it is stored.
 * @param range null if the whole file was requested
 * @throws ServiceError if the response cannot be the file; `TransientStatusError`; `UnusableRangeError`
 */
function checkResponse(file: WeightFile, response: Response, range: ByteRange | null): void {
  const { status, headers } = response;
  if (status === 416 && range) throw new UnusableRangeError();
  checkStatus(file, response);
  const isEncoded = headers.has('content-encoding');
  const length = Number(headers.get('content-length'));
  if (range) {
    // Chromium answers a range of an extension's file with status 200, the range's bytes and no length.
    const isUsable =
      status === 206 ? !isEncoded && isRange(file, headers, range) : isEncoded || length === file.bytes;
    if (!isUsable) throw new UnusableRangeError();
    return;
  }
  if (status === 206) throw unavailable(file, status);
  // Servers of other origins hide `content-encoding`: the length may be that of compressed bytes, which are at most a
  // little more.
  const most = response.type === 'basic' ? file.bytes : 1.001 * file.bytes + 64;
  if (!isEncoded && length > most) throw sizeDiffers(file, `has ${length} bytes`);
}

function checkStatus(file: WeightFile, response: Response): void {
  const { status, headers } = response;
  if (isTransient(status)) throw new TransientStatusError(response);
  if (status !== 200 && status !== 206) throw unavailable(file, status);
  const type = headers.get('content-type') ?? '';
  if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(type) && !/\.x?html?$/i.test(file.path))
    throw webPage(file, status);
}

/**
 * Checks `content-range`: a server may send less than was requested. A server of another origin, or a proxy, may hide
 * the header; then only the hash decides.
 */
function isRange(file: WeightFile, headers: Headers, { from, to }: ByteRange): boolean {
  const declared = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
  if (!declared) return true;
  const [, first, last, total] = declared;
  const isTotal = total === '*' || Number(total) === file.bytes;
  return isTotal && Number(first) === from && Number(last) >= from && Number(last) < to;
}

export class EndedEarlyError extends Error {
  /** Number of bytes of the body. */
  readonly received: number;

  constructor(received: number) {
    super(`the connection ended after ${received} bytes`);
    this.received = received;
  }
}

export type BodyReader = ReturnType<typeof bodyReader>;

/** Reads a response body in parts of at most a given length. */
export function bodyReader(body: AsyncGenerator<Bytes, void, undefined>) {
  let rest: Bytes = new Uint8Array(0);
  let received = 0;
  async function ended(): Promise<boolean> {
    while (rest.length === 0) {
      const { done, value } = await body.next();
      if (done) return true;
      rest = value;
    }
    return false;
  }
  return {
    ended,
    /** @throws EndedEarlyError at the end of the body */
    async read(maxLength: number): Promise<Bytes> {
      if (await ended()) throw new EndedEarlyError(received);
      const part = rest.subarray(0, maxLength);
      rest = rest.subarray(part.length);
      received += part.length;
      return part;
    },
    close: async () => body.return(),
  };
}
