import { backoff } from '#base';

const PAUSES = { firstMs: 5000, maxMs: 60_000 };

/** `failures` in a row: a probe that succeeds does not reset them, an answered request does. */
type Circuit =
  | { state: 'closed'; failures: number }
  /** No request is sent to the server until that time (`performance.now()`). */
  | { state: 'open'; failures: number; error: unknown; until: number }
  /** A probe is running. No request is sent to the server yet. */
  | { state: 'half-open'; failures: number; error: unknown };

/** Keeps requests away from a failing server if another variant can answer them. */
export class CircuitBreaker {
  #circuit: Circuit = { state: 'closed', failures: 0 };

  get isClosed(): boolean {
    return this.#circuit.state === 'closed';
  }

  get isOpen(): boolean {
    return this.#circuit.state === 'open';
  }

  /** Error that opened the circuit; undefined while it is closed. */
  get error(): unknown {
    return this.#circuit.state === 'closed' ? undefined : this.#circuit.error;
  }

  /** A request or a probe failed. */
  open(error: unknown, retryAfterMs = 0): void {
    const failures = this.#circuit.failures + 1;
    const until = performance.now() + Math.max(backoff(failures - 1, PAUSES), retryAfterMs);
    this.#circuit = { state: 'open', failures, error, until };
  }

  /** @returns true once the pause is over, for one caller only: that caller probes the server */
  startProbe(): boolean {
    const circuit = this.#circuit;
    if (circuit.state !== 'open' || performance.now() < circuit.until) return false;
    this.#circuit = { state: 'half-open', failures: circuit.failures, error: circuit.error };
    return true;
  }

  /** The probe succeeded: the next request is sent to the server. */
  close(): void {
    this.#circuit = { state: 'closed', failures: this.#circuit.failures };
  }

  /** A request was answered. */
  succeed(): void {
    if (this.isClosed) this.#circuit = { state: 'closed', failures: 0 };
  }
}
