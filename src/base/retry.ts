import { abortable, backoff, delay } from './async.ts';

/** Maximum number of consecutive attempts without progress. */
const MAX_ATTEMPTS = 4;
const PAUSES = { firstMs: 500, maxMs: 4000 };
/** Maximum wait for `Retry-After`. A server may ask for hours; the page reports the failure instead. */
const MAX_RETRY_AFTER_MS = 10_000;

/** Error for a status that is often temporary: the server is busy or restarting, or its proxy failed. */
export class TransientStatusError extends Error {
  readonly retryAfterMs: number;

  constructor({ status, headers }: Response) {
    super(`the server answered ${status}`);
    this.retryAfterMs = retryAfterMs(headers.get('retry-after'));
  }
}

/** Possible causes of a request without a response, which browsers do not distinguish. */
export const UNREACHABLE =
  "the connection failed, or the server (CORS) or this page's Content-Security-Policy (connect-src) does not allow it";

export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super(UNREACHABLE, { cause });
  }
}

/** Error for a response with another range than requested. A retry may succeed. */
export class WrongRangeError extends Error {}

/** Whether a retry may succeed. 501 and 505 are permanent. */
export const isTransient = (status: number): boolean => [408, 425, 429, 500, 502, 503, 504].includes(status);

interface RetryOptions {
  signal: AbortSignal;
  /** Number of bytes stored so far. An attempt that stores some resets the count of failures. */
  storedBytes(): number | Promise<number>;
  isFinal(error: unknown): boolean;
}

/** Retries an attempt, with pauses. @throws the signal's reason; a final error; the error of the last attempt */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { signal, storedBytes, isFinal }: RetryOptions,
): Promise<T> {
  for (let failures = 0; ;) {
    const before = await storedBytes();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) throw error;
      failures = (await storedBytes()) > before ? 1 : failures + 1;
      if (failures >= MAX_ATTEMPTS) throw error;
      await delay(pauseBeforeRetry(failures, error), signal);
    }
  }
}

/**
 * Milliseconds to wait before the next attempt: exponential backoff with jitter, so that pages that failed together
 * do not retry together, but at least what the server asks for, within a limit.
 */
export function pauseBeforeRetry(failures: number, error: unknown): number {
  const pause = backoff(failures - 1, PAUSES) * (0.5 + Math.random() / 2);
  const retryAfter = error instanceof TransientStatusError ? error.retryAfterMs : 0;
  return Math.max(pause, Math.min(retryAfter, MAX_RETRY_AFTER_MS));
}

/** Parses `Retry-After`, which is in seconds or a date. */
function retryAfterMs(header: string | null): number {
  if (header === null) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

/** Time without data after which a connection is considered dead. */
const IDLE_TIMEOUT_MS = 30_000;

export class IdleTimeoutError extends Error {}

/** Aborts a connection that delivers no data, on which the browser would wait forever. Time between reads does not count. */
export class IdleTimeout {
  /** Signal for `fetch()`. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #ms: number;

  constructor(signal: AbortSignal, ms = IDLE_TIMEOUT_MS) {
    this.signal = AbortSignal.any([signal, this.#stop.signal]);
    this.#ms = ms;
  }

  /** Waits for data with the time limit. @throws the error of `arrival`; `IdleTimeoutError`; the signal's reason */
  async during<T>(arrival: Promise<T>): Promise<T> {
    const error = new IdleTimeoutError(`the server sent nothing for ${this.#ms / 1000} s`);
    const timer = setTimeout(() => this.#stop.abort(error), this.#ms);
    try {
      return await abortable(arrival, this.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Yields the body's bytes as they arrive. */
  async *body({ body }: Response): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
    if (!body) return;
    const reader = body.getReader();
    try {
      for (;;) {
        const { done, value } = await this.during(reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }
}
