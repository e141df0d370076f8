import { abortable, backoff, delay } from './async.ts';

/** Minimum number of consecutive attempts without progress before giving up. */
const MIN_ATTEMPTS = 4;
/** Bytes that count as progress: with fewer in each attempt, a large file would take days. */
export const MIN_PROGRESS_BYTES = 65_536;
const PAUSES = { firstMs: 500, maxMs: 4000 };
/** Time without data after which a connection is considered dead. */
const IDLE_TIMEOUT_MS = 30_000;
/** Maximum wait for `Retry-After`. A server may ask for hours; the page reports the failure instead. */
const MAX_RETRY_AFTER_MS = 10_000;

/** Error of a connection; its message is the reason. */
export class ConnectionError extends Error {}

/** Error for a status that is often temporary: the server is busy or restarting, or its proxy failed. */
export class TransientStatusError extends ConnectionError {
  readonly response: Response;
  readonly retryAfterMs: number;

  constructor(response: Response) {
    super(`the server answered ${response.status}`);
    this.response = response;
    this.retryAfterMs = retryAfterMs(response.headers) ?? 0;
  }
}

/** Possible causes of a request without a response, which browsers do not distinguish. */
export const UNREACHABLE =
  "the connection failed, or an extension, the server (CORS) or this page's Content-Security-Policy (connect-src) does not allow it";

export class UnreachableError extends ConnectionError {
  constructor(cause: unknown) {
    super(UNREACHABLE, { cause });
  }
}

/** Whether a retry may succeed. 501 and 505 are permanent. */
export const isTransient = (status: number): boolean => [408, 425, 429, 500, 502, 503, 504].includes(status);

interface RetryOptions {
  signal: AbortSignal;
  /** Number of bytes that have arrived since the first attempt. Progress resets the count of failures. */
  arrivedBytes(): number;
  isFinal(error: unknown): boolean;
  /** Once bytes have arrived: minimum time without progress before giving up. A network needs seconds after a sleep. */
  patienceMs?: number | undefined;
}

/** Retries an attempt, with pauses. @throws the signal's reason; a final error; the error of the last attempt */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { signal, arrivedBytes, isFinal, patienceMs = IDLE_TIMEOUT_MS }: RetryOptions,
): Promise<T> {
  let failures = 0;
  let silentMs = 0;
  let progressAt = arrivedBytes();
  for (;;) {
    const began = performance.now();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) throw error;
      if (arrivedBytes() - progressAt >= MIN_PROGRESS_BYTES) {
        progressAt = arrivedBytes();
        failures = silentMs = 0;
      }
      failures++;
      // Bounded, as the device may have slept during the attempt.
      silentMs += Math.min(performance.now() - began, patienceMs / MIN_ATTEMPTS);
      const isPatient = arrivedBytes() > 0 && silentMs < patienceMs;
      if (failures >= MIN_ATTEMPTS && !isPatient) throw error;
      const pauseMs = pauseBeforeRetry(failures, error);
      silentMs += pauseMs;
      await delay(pauseMs, signal);
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

/** Reads how long a server asks to wait: in milliseconds, in seconds or as a date. Undefined: it does not. */
export function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('retry-after') || 'none';
  const seconds = Number(text) * 1000;
  const waits = [headers.get('retry-after-ms') ?? Number.NaN, seconds, Date.parse(text) - Date.now()];
  const wait = waits.map(Number).find(Number.isFinite);
  return wait === undefined ? undefined : Math.max(0, wait);
}

export class IdleTimeoutError extends ConnectionError {}

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

/** Fetches, with an error that names the causes if there is no response. */
export const reach = (...request: Parameters<typeof fetch>): Promise<Response> =>
  fetch(...request).catch((error: unknown) => {
    throw error instanceof TypeError ? new UnreachableError(error) : error;
  });
