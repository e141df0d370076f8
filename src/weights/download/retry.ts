/** In a row, without a chunk gained by any of them. */
export const MAX_ATTEMPTS = 4;
const FIRST_PAUSE_MS = 500;
/** A server may ask for hours; the page tells its user of the failure instead. */
const MAX_RETRY_AFTER_MS = 10_000;

/** The server answered with a status that often passes: it is busy, restarting, or its proxy failed. */
export class TransientStatusError extends Error {
  readonly status: number;
  readonly retryAfterMs: number;

  constructor({ status, headers }: Response) {
    super(`the server answered ${status}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs(headers.get('retry-after'));
  }
}

/** The server sent another range than the one asked for; the next answer may be the right one. */
export class WrongRangeError extends Error {}

/** Not 501 and 505: those describe the server, and stay. */
export const isTransient = (status: number): boolean => [408, 425, 429, 500, 502, 503, 504].includes(status);

/**
 * Milliseconds to wait before the next attempt: doubling, and random by a half, so that pages that failed together
 * do not come back together; at least what the server asks for, within a bound.
 */
export function pauseBeforeRetry(failures: number, error: unknown): number {
  const pause = FIRST_PAUSE_MS * 2 ** (failures - 1) * (0.5 + Math.random() / 2);
  const asked = error instanceof TransientStatusError ? error.retryAfterMs : 0;
  return Math.max(pause, Math.min(asked, MAX_RETRY_AFTER_MS));
}

/** The header holds seconds or a date. */
function retryAfterMs(header: string | null): number {
  if (header === null) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
