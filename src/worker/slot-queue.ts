import { ServiceError } from '../errors/service-error.ts';

/** Jobs that may wait for one model's slots. */
const QUEUE_LIMIT = 64;

/** Assumed duration of a job before the first one has finished, in milliseconds. */
const FIRST_GUESS_MS = 5000;

interface Waiter {
  resolve(release: () => void): void;
  reject(error: unknown): void;
  signal: AbortSignal;
  onAbort(): void;
}

/** The queue of one engine: first come, first served, with as many jobs at once as the engine has slots. */
export class SlotQueue {
  readonly #limit: number;
  readonly #waiting: Waiter[] = [];
  #slots: number;
  #running = 0;
  #averageMs = FIRST_GUESS_MS;

  constructor(slots: number, limit: number = QUEUE_LIMIT) {
    this.#slots = slots;
    this.#limit = limit;
  }

  get queued(): number {
    return this.#waiting.length;
  }

  get running(): number {
    return this.#running;
  }

  /** The engine's own number, known once it is loaded. */
  set slots(slots: number) {
    this.#slots = slots;
    this.#admit();
  }

  /** Whether a job that comes now must wait. */
  get busy(): boolean {
    return this.#running >= this.#slots;
  }

  /**
   * Waits for a slot; the function it resolves to gives the slot back, once.
   * @throws ServiceError 429 when the line is full; the signal's reason when it aborts first
   */
  enter(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (!this.busy && this.#waiting.length === 0) return Promise.resolve(this.#take());
    if (this.#waiting.length >= this.#limit) return Promise.reject(this.#full());
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        resolve,
        reject,
        signal,
        onAbort: () => {
          this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
          reject(signal.reason as Error);
        },
      };
      signal.addEventListener('abort', waiter.onAbort, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #take(): () => void {
    this.#running++;
    const start = performance.now();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#running--;
      this.#averageMs = 0.8 * this.#averageMs + 0.2 * (performance.now() - start);
      this.#admit();
    };
  }

  #admit(): void {
    while (!this.busy) {
      const next = this.#waiting.shift();
      if (!next) return;
      next.signal.removeEventListener('abort', next.onAbort);
      next.resolve(this.#take());
    }
  }

  #full(): ServiceError {
    const retryAfterMs = Math.round(Math.min(60_000, Math.max(1000, this.#averageMs / this.#slots)));
    return new ServiceError({
      status: 429,
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
      message: `The request queue is full (${this.#limit}). Retry in ${Math.ceil(retryAfterMs / 1000)} s.`,
      retryAfterMs,
    });
  }
}
