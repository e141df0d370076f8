import type { EventOf, JobOf, Kind } from '../../jobs/kinds.ts';
import type { Origin } from '../../protocol/engine-port.ts';
import { requestError, type ServiceError } from '../../errors/service-error.ts';
import { abortable } from '../../util/async.ts';
import { sha256 } from '../../util/sha256.ts';
import { rulesOf } from './job-rules.ts';
import type { JobSink } from './serve-job.ts';

type Work<K extends Kind> = (sink: JobSink<K>, signal: AbortSignal) => Promise<void>;
type Step<K extends Kind> = (sink: JobSink<K>) => Promise<void> | void;

/**
 * Jobs whose answer several requests may take. A client that gives up a request which is not streamed and sends it again, as SDKs
 * do at a time limit, cannot tell the service worker: the repetition follows the job that already runs.
 */
export class SharedJobs {
  /** Jobs that run, by their hash. */
  readonly #running = new Map<string, unknown>();

  /** Runs the job, or follows an equal one of the same client. @throws the signal's reason; what `work` throws */
  async run<K extends Kind>(
    { id, job, origin }: { id: string; job: JobOf<K>; origin?: Origin },
    sink: JobSink<K>,
    signal: AbortSignal,
    work: Work<K>,
  ): Promise<void> {
    const sharedWith = rulesOf<K>(job.kind).sharedWith?.(job) ?? 'all';
    if (!origin?.mayBeRepeated || sharedWith === 'none') return work(sink, signal);
    // One of several choices is wanted beside the others: its id ends in its index.
    const key = await hashOf([origin.client, id.slice(origin.request.length), job]);
    signal.throwIfAborted();
    const known = this.#running.get(key) as SharedJob<K> | undefined;
    if (known && sharedWith === 'retries' && known.isConcurrentAttempt(origin.attempt)) {
      known.noteAttempt(origin.attempt);
      return work(sink, signal);
    }
    const running = known ?? new SharedJob<K>(work, (ended) => this.#forget(key, ended));
    this.#running.set(key, running);
    return running.follow(sink, signal, origin.attempt);
  }

  #forget(key: string, ended: unknown): void {
    // One that was abandoned may end after its successor has begun.
    if (this.#running.get(key) === ended) this.#running.delete(key);
  }
}

/** SHA-256 of plain data with files in it. */
async function hashOf(value: unknown): Promise<string> {
  const files: Blob[] = [];
  const text = JSON.stringify(value, (_key, part: unknown) =>
    part instanceof Blob ? [files.push(part), part.size] : part,
  );
  const encoded = new TextEncoder().encode(text);
  // A Blob goes through the browser's process.
  return sha256(
    files.length === 0 ? encoded : new Uint8Array(await new Blob([encoded, ...files]).arrayBuffer()),
  );
}

/** No client gives a request up so soon to repeat it. */
const TOGETHER_MS = 1000;

/** SDKs wait between attempts, and begin with half a second. */
const ATTEMPT_GRACE_MS = 2000;

const givenUp = (): ServiceError =>
  requestError(
    408,
    'The client has given this request up: it takes longer than the time before it was repeated.',
  );

class SharedJob<K extends Kind> {
  readonly #past: Step<K>[] = [];
  readonly #sinks = new Set<JobSink<K>>();
  readonly #abandoned = new AbortController();
  readonly #end: Promise<void>;
  readonly #began = performance.now();
  #followers = 0;
  /** An SDK's attempts, and when they came, but for those that a later one has ended. */
  readonly #attempts: { number: number; limit: AbortController; at: number }[] = [];

  constructor(work: Work<K>, onEnd: (ended: SharedJob<K>) => void) {
    const sink: JobSink<K> = {
      onStage: (...stage) => void this.#pass((each) => each.onStage(...stage)),
      send: (event: EventOf<K>) => this.#pass((each) => each.send(event)),
    };
    const end = (): void => onEnd(this);
    this.#end = work(sink, this.#abandoned.signal).finally(end);
    this.#end.catch(() => undefined);
    this.#abandoned.signal.addEventListener('abort', end);
  }

  /** Whether an equal request is no repetition: by its number, or, without one, as it comes at once. */
  isConcurrentAttempt(attempt: number | undefined): boolean {
    return attempt === undefined ? performance.now() - this.#began < TOGETHER_MS : attempt === 0;
  }

  async follow(sink: JobSink<K>, signal: AbortSignal, attempt?: number): Promise<void> {
    this.#followers++;
    const limit = attempt === undefined ? null : this.#limitOf(attempt);
    const either = limit ? AbortSignal.any([signal, limit.signal]) : signal;
    try {
      for (let at = 0; at < this.#past.length; at++) await this.#past[at]?.(sink);
      this.#sinks.add(sink);
      await abortable(this.#end, either);
    } finally {
      limit?.stop();
      this.#sinks.delete(sink);
      if (--this.#followers === 0) this.#abandoned.abort(either.reason);
    }
  }

  /** Notes an equal request that is computed by itself: a later attempt may be its. */
  noteAttempt(number: number | undefined): void {
    if (number !== undefined)
      this.#attempts.push({ number, limit: new AbortController(), at: performance.now() });
  }

  /** A later attempt says that the one before is given up, and after how long: the later one has as much time. */
  #limitOf(number: number): { signal: AbortSignal; stop(): void } {
    const limit = new AbortController();
    const at = performance.now();
    const [before, other] = this.#attempts.filter((attempt) => attempt.number === number - 1);
    this.#attempts.push({ number, limit, at });
    // With equal requests beside each other, it is not known which was given up.
    if (!before || other) return { signal: limit.signal, stop: () => undefined };
    this.#attempts.splice(this.#attempts.indexOf(before), 1);
    // Not at once: its other choices are still to be followed.
    setTimeout(() => before.limit.abort(givenUp()), ATTEMPT_GRACE_MS);
    const timer = setTimeout(() => limit.abort(givenUp()), at - before.at + ATTEMPT_GRACE_MS);
    return { signal: limit.signal, stop: () => clearTimeout(timer) };
  }

  async #pass(step: Step<K>): Promise<void> {
    this.#past.push(step);
    // A sink whose request is gone leaves by its signal.
    await Promise.allSettled([...this.#sinks].map(step));
  }
}
