import type { WeightFile } from '../../catalog/catalog.ts';
import { sizeDiffers, unavailable, webPage } from './download-errors.ts';
import { isTransient, TransientStatusError, WrongRangeError } from './retry.ts';

/** Bytes of a file: the first one, and the one after the last. */
export interface ByteRange {
  from: number;
  to: number;
}

/**
 * Refuses an answer that cannot be the file, before any byte of it is stored.
 * @throws EngineError; `TransientStatusError` and `WrongRangeError`, after which another attempt may help
 */
export async function checkResponse(file: WeightFile, response: Response, asked: ByteRange): Promise<void> {
  try {
    checkStatus(file, response);
    if (response.status === 200) checkLength(file, response.headers);
    else checkRange(file, response.headers, asked);
  } catch (error) {
    await response.body?.cancel().catch(() => undefined);
    throw error;
  }
}

function checkStatus(file: WeightFile, response: Response): void {
  const { status, headers } = response;
  if (status === 416) throw sizeDiffers(file, 'is shorter');
  if (isTransient(status)) throw new TransientStatusError(response);
  if (status !== 200 && status !== 206) throw unavailable(file, status);
  const type = headers.get('content-type') ?? '';
  if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(type) && !/\.x?html?$/i.test(file.path)) {
    throw webPage(file, status);
  }
}

function checkLength(file: WeightFile, headers: Headers): void {
  const length = headers.get('content-length');
  if (length === null || headers.has('content-encoding') || Number(length) === file.bytes) return;
  throw sizeDiffers(file, `has ${length} bytes`);
}

/** A server of another origin may hide the header: the hash decides then. */
function checkRange(file: WeightFile, headers: Headers, { from, to }: ByteRange): void {
  const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
  if (!range) return;
  const [, first, last, total] = range;
  if (total !== '*' && Number(total) !== file.bytes) throw sizeDiffers(file, `has ${total} bytes`);
  if (Number(first) !== from || Number(last) !== to - 1) {
    throw new WrongRangeError(
      `the server answered bytes ${first} to ${last} when ${from} to ${to - 1} were asked for`,
    );
  }
}
