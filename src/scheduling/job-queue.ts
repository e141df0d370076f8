import { rateLimited, ServiceError } from '#base';
import { Executor } from './executor.ts';
import { type JobView, lastOfMost, nextJob, POLICY, type Served } from './policy.ts';

const { firstGuess, maxQueued } = POLICY.job;

/** A job's claim on a slot. */
export interface Claim extends JobView {
  /** Asks the running job to leave its slot. Later calls have no effect. */
  pause(): void;
}

/** Jobs of one model, which share its slots as `nextJob()` decides. */
export class JobQueue {
  readonly #limit: number;
  readonly #served = new Map<string, Served>();
  readonly #executor: Executor<Claim>;
  #slots: number;
  #averageMs: number = firstGuess;

  constructor(slots: number, limit: number = maxQueued) {
    this.#slots = slots;
    this.#limit = limit;
    this.#executor = new Executor(
      (_, now) => this.#decide(now),
      (claim) => claim.pause(),
    );
  }

  get queued(): number {
    return this.#executor.waiting.length;
  }

  get running(): number {
    return this.#executor.running.length;
  }

  /** Number of the engine's slots, known once it is loaded. */
  set slots(slots: number) {
    this.#slots = slots;
    this.#executor.update();
  }

  /** Whether a new job must wait. */
  get busy(): boolean {
    return this.running >= this.#slots;
  }

  /**
   * Waits for a slot.
   * @returns a function that releases the slot; later calls have no effect
   * @throws ServiceError 429 if the queue is full; the signal's reason if it aborts first
   */
  async enter(signal: AbortSignal, claim: Claim): Promise<() => void> {
    const entering = this.#executor.enter(claim, signal);
    const refused = this.queued > this.#limit && lastOfMost(this.#view, performance.now());
    if (refused) this.#executor.refuse(refused, this.#full());
    const leave = await entering;
    const began = performance.now();
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#averageMs = 0.8 * this.#averageMs + 0.2 * (performance.now() - began);
      this.#serve(claim, 0);
      leave();
    };
  }

  get #view() {
    const { waiting, running } = this.#executor;
    return { slots: this.#slots, waiting, running, served: this.#served };
  }

  #decide(now: number) {
    const view = this.#view;
    if (view.waiting.length === 0) this.#served.clear();
    const decision = nextJob(view, now);
    if (decision.begin) this.#serve(decision.begin.job, 1);
    return decision;
  }

  #serve({ client }: Claim, begun: number): void {
    this.#served.set(client, {
      count: (this.#served.get(client)?.count ?? 0) + begun,
      at: performance.now(),
    });
  }

  #full(): ServiceError {
    const retryAfterMs = Math.round(Math.min(60_000, Math.max(1000, this.#averageMs / this.#slots)));
    const message = `The request queue is full (${this.#limit}). Retry in ${Math.ceil(retryAfterMs / 1000)} s.`;
    return new ServiceError({ ...rateLimited(message, retryAfterMs).wire, isQueueFull: true });
  }
}
