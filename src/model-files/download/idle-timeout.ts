import { abortable } from '../../util/async.ts';

/** A connection without data for this long is considered dead. */
const IDLE_TIMEOUT_MS = 30_000;

export class IdleTimeoutError extends Error {}

/** Ends a connection without data; the browser itself would wait forever. Pauses of the reader do not count. */
export class IdleTimeout {
  /** For `fetch()`. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #ms: number;

  constructor(signal: AbortSignal, ms = IDLE_TIMEOUT_MS) {
    this.signal = AbortSignal.any([signal, this.#stop.signal]);
    this.#ms = ms;
  }

  /** @throws what the arrival fails with; `IdleTimeoutError`; the signal's reason */
  async during<T>(arrival: Promise<T>): Promise<T> {
    const error = new IdleTimeoutError(`the server sent nothing for ${this.#ms / 1000} s`);
    const timer = setTimeout(() => this.#stop.abort(error), this.#ms);
    try {
      return await abortable(arrival, this.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The body's bytes as they arrive. */
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
