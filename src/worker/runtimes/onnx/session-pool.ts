import type { TransformersVariant } from '../../../catalog/catalog.ts';
import { maxWorkers } from '../../../catalog/memory-estimate.ts';
import { hasThreads, processors } from '../../device/device.ts';

/** How a model on WASM uses the processors. */
export interface Parallelism {
  /** The most that compute at once. */
  workers: number;
  /** Of a worker that computes alone. */
  threadsAlone: number;
  /** Of each of several. */
  threadsEach: number;
}

/** Threads require SharedArrayBuffer, workers do not. */
export function parallelism(variant: TransformersVariant): Parallelism {
  const threadsAlone = hasThreads() ? processors() : 1;
  const workers = variant.device === 'webgpu' ? 1 : Math.min(maxWorkers(variant), processors());
  return { workers, threadsAlone, threadsEach: Math.max(1, Math.floor(threadsAlone / workers)) };
}

type Vector = Float32Array<ArrayBuffer>;

/** A model in memory. It computes one batch at a time. */
export interface Session {
  /** One L2-normalised vector for each sequence. */
  run(batch: readonly (readonly number[])[]): Promise<Vector[]>;
  end(): void;
}

export interface PoolOptions {
  /** The most sessions that compute at once. */
  size: number;
  /** The first session has threads that the others need: it ends when the next one is there. */
  replacesFirst: boolean;
  open(signal: AbortSignal): Promise<Session>;
}

/** Batches must have waited this long, without a pause, before more sessions are worth their memory and their start. */
const BACKLOG_MS = 1000;

/** Sessions of one model: a single one until batches queue, then up to `size`. A batch runs in whichever is free next. */
export class SessionPool implements Session {
  readonly size: number;
  readonly #options: PoolOptions;
  readonly #first: Session;
  readonly #sessions: Set<Session>;
  readonly #idle: Session[];
  readonly #waiting: ((session: Session) => void)[] = [];
  readonly #ended = new AbortController();
  /** Since when no session was idle while a batch waited, by `performance.now()`. */
  #backlogSince: number | null = null;
  /** Whether more sessions were opened. Where one did not open, the next would not either. */
  #grown = false;

  constructor(first: Session, options: PoolOptions) {
    this.size = options.size;
    this.#options = options;
    this.#first = first;
    this.#sessions = new Set([first]);
    this.#idle = [first];
  }

  async run(batch: readonly (readonly number[])[]): Promise<Vector[]> {
    const session = this.#idle.pop() ?? (await this.#nextFree());
    try {
      return await session.run(batch);
    } finally {
      this.#free(session);
    }
  }

  end(): void {
    this.#ended.abort();
    for (const session of this.#sessions) session.end();
  }

  #nextFree(): Promise<Session> {
    this.#backlogSince ??= performance.now();
    if (!this.#grown && performance.now() - this.#backlogSince >= BACKLOG_MS) void this.#grow();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #free(session: Session): void {
    if (!this.#sessions.has(session)) return session.end();
    const next = this.#waiting.shift();
    if (next) return next(session);
    this.#idle.push(session);
    this.#backlogSince = null;
  }

  async #grow(): Promise<void> {
    this.#grown = true;
    const { size, replacesFirst, open } = this.#options;
    const { signal } = this.#ended;
    try {
      for (let count = replacesFirst ? 0 : 1; count < size; count++) {
        const session = await open(signal);
        if (signal.aborted) return session.end();
        if (replacesFirst) this.#retire(this.#first);
        this.#sessions.add(session);
        this.#free(session);
      }
    } catch (error) {
      if (!signal.aborted) console.warn('localtext: a further worker of a model did not start', error);
    }
  }

  /** Ends a session, after the batch that it may run. */
  #retire(session: Session): void {
    this.#sessions.delete(session);
    const at = this.#idle.indexOf(session);
    if (at < 0) return;
    this.#idle.splice(at, 1);
    session.end();
  }
}
