import { ServiceError } from '#base';

/** Maximum number of jobs that wait for one model's slots. */
const QUEUE_LIMIT = 64;

/** Assumed duration of a job before the first one has finished, in milliseconds. */
const FIRST_GUESS_MS = 5000;

/** A job's claim on a slot. */
export interface Claim {
  /** Client id. Jobs of one client share its slots. */
  client: string;
  /** Absent if the job cannot be paused. */
  yields?: Yielding;
  /** Whether its client may have abandoned it unnoticed, which is possible if the reply is not streamed. */
  mayBeAbandoned?: boolean;
}

export interface Yielding {
  /**
   * Jobs that it yields to. `sharing`: jobs of a client with fewer slots; `short`: all jobs that are neither short
   * nor long; `long`: also short jobs.
   */
  as: 'sharing' | 'short' | 'long';
  /** How often the job was paused. With each pause it keeps its slot for longer. */
  pauses: number;
  /** Called when another job needs its slot. */
  onPause(): void;
}

/** Time added with each pause to how long a job keeps its slot, in milliseconds: it finishes under any load. */
const PAUSE_STEP_MS = 1000;
/** How long a job keeps its client's only slot while another client has none, in milliseconds. */
const ONLY_SLOT_MS = 5000;

interface Runner {
  claim: Claim;
  startedAt: number;
  timer?: ReturnType<typeof setTimeout>;
}

interface Waiter {
  claim: Claim;
  /** Position in the fair order of all clients. */
  turn: number;
  resolve(release: () => void): void;
  reject(error: unknown): void;
  signal: AbortSignal;
  onAbort(): void;
}

/** Ranks of jobs. Lower ranks are served first. */
const FIRST = 0;
const SHORT = 1;
const LONG = 2;
const RANKS = { sharing: FIRST, short: SHORT, long: LONG };

const rankOf = ({ claim: { yields } }: Pick<Waiter, 'claim'>): number => (yields ? RANKS[yields.as] : FIRST);

const inTurn = (a: Waiter, b: Waiter): number => rankOf(a) - rankOf(b) || a.turn - b.turn;

/**
 * Queue of an engine that runs a job per slot. Clients take turns; a client's jobs run in order of arrival, except
 * that jobs that may be abandoned alternate with the latest. Short and long jobs wait for all others; at most one
 * long job runs beside others. Sharing jobs yield to clients with fewer slots.
 */
export class SlotQueue {
  readonly #limit: number;
  readonly #waiting: Waiter[] = [];
  readonly #runners = new Set<Runner>();
  /** Turn of each client's latest job. */
  readonly #lastTurns = new Map<string, number>();
  /** Clients whose previous turn went to their latest job. */
  readonly #servedLatest = new Set<string>();
  #turn = 0;
  #slots: number;
  #averageMs = FIRST_GUESS_MS;

  constructor(slots: number, limit: number = QUEUE_LIMIT) {
    this.#slots = slots;
    this.#limit = limit;
  }

  get queued(): number {
    return this.#waiting.length;
  }

  get running(): number {
    return this.#runners.size;
  }

  /** Number of the engine's slots, known once it is loaded. */
  set slots(slots: number) {
    this.#slots = slots;
    this.#admit();
  }

  /** Whether a new job must wait. */
  get busy(): boolean {
    return this.#runners.size >= this.#slots;
  }

  /**
   * Waits for a slot.
   * @returns a function that releases the slot; later calls have no effect
   * @throws ServiceError 429 if the queue is full; the signal's reason if it aborts first
   */
  enter(signal: AbortSignal, claim: Claim = { client: '' }): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        claim,
        turn: Math.max(this.#turn, this.#lastTurns.get(claim.client) ?? 0) + 1,
        resolve,
        reject,
        signal,
        onAbort: () => {
          this.#drop(waiter);
          reject(signal.reason as Error);
        },
      };
      this.#lastTurns.set(claim.client, waiter.turn);
      signal.addEventListener('abort', waiter.onAbort, { once: true });
      this.#waiting.push(waiter);
      this.#waiting.sort(inTurn);
      this.#admit();
      const last = this.#lastOfMost;
      if (last && this.#waiting.length > this.#limit) {
        this.#drop(last);
        last.reject(this.#full());
      }
    });
  }

  /** The last waiting job of the client with the most waiting jobs. */
  get #lastOfMost(): Waiter | undefined {
    const counts = new Map<string, number>();
    for (const { claim } of this.#waiting) counts.set(claim.client, (counts.get(claim.client) ?? 0) + 1);
    const max = Math.max(...counts.values());
    return this.#waiting.findLast(({ claim }) => counts.get(claim.client) === max);
  }

  #take(claim: Claim): () => void {
    const runner: Runner = { claim, startedAt: performance.now() };
    this.#runners.add(runner);
    return () => {
      clearTimeout(runner.timer);
      if (!this.#runners.delete(runner)) return;
      this.#averageMs = 0.8 * this.#averageMs + 0.2 * (performance.now() - runner.startedAt);
      this.#admit();
    };
  }

  #admit(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#turn = next.turn;
      const admitted = this.#admittedInTurnOf(next);
      this.#drop(admitted);
      admitted.resolve(this.#take(admitted.claim));
    }
    if (this.#waiting.length === 0) {
      this.#lastTurns.clear();
      this.#servedLatest.clear();
    }
    this.#makeWay();
  }

  /**
   * The job that gets the turn of `first`. Every second time this is the latest of the client's jobs that may have been
   * abandoned: it may be the only job that the client still waits for.
   */
  #admittedInTurnOf(first: Waiter): Waiter {
    const { client } = first.claim;
    const isInDoubt = (waiter: Waiter): boolean =>
      waiter.claim.client === client && waiter.claim.mayBeAbandoned === true && rankOf(waiter) === FIRST;
    if (!isInDoubt(first) || this.#servedLatest.delete(client)) return first;
    this.#servedLatest.add(client);
    const inDoubt = this.#waiting.filter(isInDoubt);
    // The client's other jobs move back by one turn, so that no other client waits longer.
    for (const waiter of inDoubt) waiter.turn++;
    this.#waiting.sort(inTurn);
    return inDoubt.at(-1) ?? first;
  }

  #slotsOf({ claim: { client } }: Pick<Waiter, 'claim'>): number {
    return [...this.#runners].filter(({ claim }) => claim.client === client).length;
  }

  /** The next waiting job: lowest rank first, then the client with the fewest slots. */
  get #first(): Waiter | undefined {
    return this.#waiting.toSorted((a, b) => rankOf(a) - rankOf(b) || this.#slotsOf(a) - this.#slotsOf(b))[0];
  }

  /** The next waiting job, if it may run now. */
  #next(): Waiter | undefined {
    const first = this.#first;
    if (!first || this.busy) return undefined;
    const runners = [...this.#runners];
    const others = runners.some((runner) => rankOf(runner) < LONG);
    const mustWait = rankOf(first) === LONG && others && runners.some((runner) => rankOf(runner) === LONG);
    return mustWait && this.#slots < Infinity ? undefined : first;
  }

  /** Jobs to pause, the latest first. */
  get #excess(): Runner[] {
    if (this.#slots === Infinity) return [];
    const runners = [...this.#runners].toReversed();
    const long = runners.filter((runner) => rankOf(runner) === LONG);
    const isWaiting = this.#waiting.some((waiter) => rankOf(waiter) < LONG);
    if (long.length > 0) {
      const others = isWaiting || runners.length > long.length;
      // One long job may stay beside others, unless others wait for its slot.
      return others ? (isWaiting && long.length === 1 ? long : long.slice(0, -1)) : [];
    }
    const first = this.#waiting.filter((waiter) => rankOf(waiter) === FIRST);
    const short = runners.filter((runner) => rankOf(runner) === SHORT).slice(0, first.length);
    return short.length > 0 ? short : this.#unshared(runners);
  }

  /**
   * The job to pause for a waiting client with fewer slots: the latest of the largest
   * holder, or the oldest if each has one.
   */
  #unshared(runners: readonly Runner[]): Runner[] {
    const first = this.#first;
    if (!first || !this.busy || rankOf(first) !== FIRST) return [];
    const has = this.#slotsOf(first);
    const ready = runners.filter(({ claim }) => claim.yields);
    const max = Math.max(0, ...ready.map((runner) => this.#slotsOf(runner)));
    const having = ready.filter((runner) => this.#slotsOf(runner) === max);
    if (max > has + 1) return having.slice(0, 1);
    return max === 1 && has === 0 ? having.slice(-1) : [];
  }

  #makeWay(): void {
    for (const runner of this.#excess) {
      const { startedAt } = runner;
      const { yields } = runner.claim;
      if (!yields) continue;
      const keepsMs = this.#keepMs(runner, yields) - (performance.now() - startedAt);
      const pause = (): void => {
        delete runner.timer;
        if (this.#excess.includes(runner)) yields.onPause();
      };
      runner.timer ??= setTimeout(pause, Math.max(0, keepsMs));
    }
  }

  /** Time for which a runner keeps its slot, in milliseconds. Of several long jobs, one stays in any case. */
  #keepMs(runner: Runner, { as, pauses }: Yielding): number {
    if (as === 'long' && [...this.#runners].filter((each) => rankOf(each) === LONG).length > 1) return 0;
    const leastMs = as === 'sharing' && this.#slotsOf(runner) === 1 ? ONLY_SLOT_MS : 0;
    return leastMs + pauses * PAUSE_STEP_MS;
  }

  #drop(waiter: Waiter): void {
    waiter.signal.removeEventListener('abort', waiter.onAbort);
    this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
  }

  #full(): ServiceError {
    const retryAfterMs = Math.round(Math.min(60_000, Math.max(1000, this.#averageMs / this.#slots)));
    return new ServiceError({
      status: 429,
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
      message: `The request queue is full (${this.#limit}). Retry in ${Math.ceil(retryAfterMs / 1000)} s.`,
      retryAfterMs,
      isQueueFull: true,
    });
  }
}
