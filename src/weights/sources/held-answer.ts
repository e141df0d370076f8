import { withTimeout } from '#base';

/** How long a failure is cached, in milliseconds. */
const FAILURE_HOLDS_MS = 60_000;
/** Minimum age of a failure that `dropFailure()` drops, so that consecutive calls ask only once. */
const MIN_FAILURE_MS = 1000;

/** Caches a server's answer for a time. Null stands for a failure. */
export class HeldAnswer<T> {
  readonly #ask: () => Promise<T | null>;
  readonly #holdMs: number;
  #last: { at: number; answer: Promise<T | null>; failed: boolean } | null = null;

  /** @param ask requests the answer; never rejects @param holdMs how long an answer is cached */
  constructor(ask: () => Promise<T | null>, holdMs: number) {
    this.#ask = ask;
    this.#holdMs = holdMs;
  }

  /** @param withinMs time limit, after which the request counts as failed; a later answer is used by the next call */
  async get(withinMs: number): Promise<T | null> {
    const now = performance.now();
    const last = this.#last;
    const isHeld = last && now - last.at <= (last.failed ? FAILURE_HOLDS_MS : this.#holdMs);
    const { at, answer } = isHeld ? last : this.#begin(now);
    return withTimeout(answer, at + withinMs - now);
  }

  /** Drops a cached failure, so that the next call asks again. */
  dropFailure(): void {
    if (this.#last?.failed && performance.now() - this.#last.at >= MIN_FAILURE_MS) this.#last = null;
  }

  #begin(at: number) {
    const request = { at, answer: this.#ask(), failed: false };
    this.#last = request;
    void request.answer.then((answer) => (request.failed = answer === null));
    return request;
  }
}
