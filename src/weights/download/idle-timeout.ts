import { abortable } from '../../protocol/abort.ts';

/** A connection on which nothing has come for this long is dead, whatever the browser takes it for. */
const IDLE_TIMEOUT_MS = 30_000;

/** Nothing came on a connection, which the browser itself would have waited on forever. */
export class IdleTimeoutError extends Error {
  readonly seconds: number;

  constructor(ms: number) {
    super(`nothing came for ${ms / 1000} s`);
    this.seconds = ms / 1000;
  }
}

/** Watches one connection, and ends it when nothing comes. Time that its reader takes for itself does not count. */
export class IdleTimeout {
  /** For `fetch()`. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #ms: number;

  constructor(signal: AbortSignal, ms = IDLE_TIMEOUT_MS) {
    this.signal = AbortSignal.any([signal, this.#stop.signal]);
    this.#ms = ms;
  }

  /** @throws what the arrival fails of; `IdleTimeoutError`; the signal's reason */
  async during<T>(arrival: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#stop.abort(new IdleTimeoutError(this.#ms)), this.#ms);
    try {
      return await abortable(arrival, this.signal);
    } finally {
      clearTimeout(timer);
    }
  }
}
