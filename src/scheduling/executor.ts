import type { Decision, Since } from './policy.ts';

type Decide<Job> = (executor: Pick<Executor<Job>, 'waiting' | 'running'>, now: number) => Decision<Job>;

interface Runner<Job> extends Since<Job> {
  isAskedToPause: boolean;
}

interface Waiter<Job> extends Since<Job> {
  begin(leave: () => void): void;
  fail(reason: unknown): void;
}

/** Runs jobs as a policy decides: it begins those that wait, and asks those that run to pause. */
export class Executor<Job> {
  readonly #decide: Decide<Job>;
  readonly #pause: (job: Job) => void;
  #waiting: Waiter<Job>[] = [];
  readonly #running = new Set<Runner<Job>>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param pause asks a running job to leave */
  constructor(decide: Decide<Job>, pause: (job: Job) => void = () => undefined) {
    this.#decide = decide;
    this.#pause = pause;
  }

  /** In order of arrival. */
  get waiting(): readonly Since<Job>[] {
    return this.#waiting;
  }

  /** In order of their begin. */
  get running(): readonly Runner<Job>[] {
    return [...this.#running];
  }

  /**
   * Waits until the policy lets the job begin.
   * @returns a function that ends it; later calls have no effect
   * @throws the signal's reason; the reason of `refuse()`
   */
  enter(job: Job, signal?: AbortSignal): Promise<() => void> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const onAbort = (): void => this.refuse(job, signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    return new Promise<() => void>((begin, fail) => {
      this.#waiting.push({ job, since: performance.now(), begin, fail });
      this.update();
    }).finally(() => signal?.removeEventListener('abort', onAbort));
  }

  /** Fails a waiting job. */
  refuse(job: Job, reason: unknown): void {
    const waiter = this.#waiting.find((each) => each.job === job);
    this.#waiting = this.#waiting.filter((each) => each !== waiter);
    waiter?.fail(reason);
    this.update();
  }

  /** Asks the policy again, after something that it depends on has changed. */
  update(): void {
    // A job that begins or leaves at once calls `update()` again, so each step decides again.
    while (this.#step());
  }

  /** @returns whether to ask the policy again at once */
  #step(): boolean {
    const now = performance.now();
    const { begin, pause = [], again = Infinity } = this.#decide(this, now);
    if (begin) this.#begin(begin);
    if (begin) return true;
    const toPause = pause.flatMap(({ job, at }) =>
      this.running
        .filter((runner) => runner.job === job && !runner.isAskedToPause)
        .map((runner) => ({ runner, at })),
    );
    const due = toPause.find(({ at }) => at <= now);
    if (due) {
      due.runner.isAskedToPause = true;
      this.#pause(due.runner.job);
      return true;
    }
    clearTimeout(this.#timer);
    const next = Math.min(again, ...toPause.map(({ at }) => at));
    if (next < Infinity) this.#timer = setTimeout(() => this.update(), next - now);
    return false;
  }

  #begin({ job, as }: NonNullable<Decision<Job>['begin']>): void {
    const waiter = this.#waiting.find((each) => each.job === job);
    if (!waiter) throw new Error('the policy begins a job that does not wait');
    this.#waiting = this.#waiting.filter((each) => each !== waiter);
    const runner = { job: as, since: performance.now(), isAskedToPause: false };
    this.#running.add(runner);
    waiter.begin(() => {
      if (this.#running.delete(runner)) this.update();
    });
  }
}
