import { backoff } from '#base';

const PAUSES = { firstMs: 5000, maxMs: 60_000 };

/** Keeps requests away from a failing server if another variant can answer them. */
export class CircuitBreaker {
  /** `half-open`: a probe is running. No request is sent to the server yet. */
  #state: 'closed' | 'open' | 'half-open' = 'closed';
  /** Failures in a row: a probe that succeeds does not reset them, an answered request does. */
  #failures = 0;
  /** While it is open, no request is sent to the server until that time (`performance.now()`). */
  #until = 0;
  /** Error that opened the circuit; undefined while it is closed. */
  error: unknown;

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** A request or a probe failed. */
  open(error: unknown, retryAfterMs = 0): void {
    this.#until = performance.now() + Math.max(backoff(this.#failures++, PAUSES), retryAfterMs);
    this.#state = 'open';
    this.error = error;
  }

  /** @returns true once the pause is over, for one caller only: that caller probes the server */
  startProbe(): boolean {
    if (!this.isOpen || performance.now() < this.#until) return false;
    this.#state = 'half-open';
    return true;
  }

  /** The probe succeeded: the next request is sent to the server. */
  close(): void {
    this.#state = 'closed';
    this.error = undefined;
  }

  /** A request was answered. */
  succeed(): void {
    if (this.isClosed) this.#failures = 0;
  }
}
