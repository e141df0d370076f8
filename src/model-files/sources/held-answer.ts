import { withTimeout } from '../../util/async.ts';

/** How long a failure is held, in milliseconds. */
const FAILURE_HOLDS_MS = 60_000;
/** Least age of a failure that `dropFailure()` drops: calls in a row ask once. */
const MIN_FAILURE_MS = 1000;

/** Asks a server once, and keeps its answer for a time. Null: it failed. */
export class HeldAnswer<T> {
  readonly #ask: () => Promise<T | null>;
  readonly #holdMs: number;
  #last: { at: number; answer: Promise<T | null>; failed: boolean } | null = null;

  /** @param ask never rejects. @param holdMs how long an answer is held */
  constructor(ask: () => Promise<T | null>, holdMs: number) {
    this.#ask = ask;
    this.#holdMs = holdMs;
  }

  /** @param withinMs how long a question may take before it counts as failed; a later answer counts for the next call */
  async get(withinMs: number): Promise<T | null> {
    const now = performance.now();
    const last = this.#last;
    const isHeld = last && now - last.at <= (last.failed ? FAILURE_HOLDS_MS : this.#holdMs);
    const { at, answer } = isHeld ? last : this.#begin(now);
    return withTimeout(answer, at + withinMs - now);
  }

  /** Lets the next call ask again after a failure. */
  dropFailure(): void {
    if (this.#last?.failed && performance.now() - this.#last.at >= MIN_FAILURE_MS) this.#last = null;
  }

  #begin(at: number) {
    const begun = { at, answer: this.#ask(), failed: false };
    this.#last = begun;
    void begun.answer.then((answer) => (begun.failed = answer === null));
    return begun;
  }
}
