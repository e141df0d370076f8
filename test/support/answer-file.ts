import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

/** How a server answers a request for a file; all but `body` are faults, or their absence. */
export interface Behaviour {
  body: Buffer;
  etag?: string | undefined;
  /** Answers the whole file whatever is asked for. */
  ignoresRange?: boolean;
  /** Answers a range with status 200 and no length, as Chromium does for the files of an extension. */
  hidesRange?: boolean;
  /** Answers each range with the file's first bytes, and hides which it sent. */
  misplacesRange?: boolean;
  /** Compresses what it sends; of a range, the bytes of the compressed file. */
  gzip?: boolean;
  /** Sends so many bytes of a range at most. */
  maxRange?: number;
  /** Answers requests for ranges with 416. */
  refusesRange?: boolean;
  /** Cuts the connection after so many bytes of an answer. */
  cutAfter?: number;
  /** Sends so many bytes of an answer, and then nothing; the connection stays. */
  stallAfter?: number;
  /** Waits before each answer, in milliseconds. */
  delayMs?: number;
  status?: number;
  /** Headers in place of the true ones. */
  headers?: Record<string, string>;
}

const compressedBodies = new WeakMap<Buffer, Buffer>();

/** Compresses a body once, as that takes seconds on a busy machine. */
export function compressed(body: Buffer): Buffer {
  const known = compressedBodies.get(body) ?? gzipSync(body, { level: 1 });
  compressedBodies.set(body, known);
  return known;
}

/** @returns bytes of the body that were sent */
export async function answerFile(
  request: IncomingMessage,
  response: ServerResponse,
  behaviour: Behaviour,
): Promise<number> {
  const {
    etag,
    ignoresRange,
    hidesRange,
    misplacesRange,
    cutAfter,
    stallAfter,
    delayMs = 0,
    gzip,
    maxRange,
  } = behaviour;
  const body = gzip ? compressed(behaviour.body) : behaviour.body;
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  const range = ignoresRange ? null : /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
  const status = behaviour.status ?? (range && behaviour.refusesRange ? 416 : undefined);
  const from = range ? Number(range[1]) : 0;
  const last = range ? Math.min(Number(range[2]) + 1, from + (maxRange ?? Infinity)) : Infinity;
  const to = Math.min(last, body.length);
  const part = misplacesRange ? body.subarray(0, to - from) : body.subarray(from, to);
  const isPlain = range && !hidesRange;
  response.writeHead(status ?? (isPlain ? 206 : 200), {
    ...(!hidesRange && { 'content-length': part.length }),
    ...(gzip && { 'content-encoding': 'gzip' }),
    ...(etag !== undefined && { etag }),
    ...(isPlain && !misplacesRange && { 'content-range': `bytes ${from}-${to - 1}/${body.length}` }),
    ...behaviour.headers,
  });
  const ends = stallAfter ?? cutAfter ?? part.length;
  if (ends >= part.length) {
    response.end(part);
    return part.length;
  }
  response.write(part.subarray(0, ends), () => {
    if (stallAfter === undefined) setTimeout(() => response.destroy(), 50);
  });
  return ends;
}
