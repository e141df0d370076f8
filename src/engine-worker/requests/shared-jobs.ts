import type { EventOf, JobOf, Kind } from '#jobs';
import type { Origin } from '#protocol';
import { requestError, abortable, sha256, type ServiceError } from '#base';
import { jobRules } from './job-rules.ts';
import type { JobSink } from './serve-job.ts';

type Work<K extends Kind> = (sink: JobSink<K>, signal: AbortSignal) => Promise<void>;
type Step<K extends Kind> = (sink: JobSink<K>) => Promise<void> | void;

/** What repetitions of a job have in common: plain data. */
type Identity = [client: string, choice: string, job: unknown];

/**
 * Lets repeated requests share one job. A client that abandons a request without a stream and repeats it, as SDKs
 * do after a timeout, cannot notify the service worker: the repetition joins the job that already runs.
 */
export class SharedJobs {
  readonly #running = new Map<Identity, unknown>();

  /** Runs the job, or joins an equal job of the same client. @throws the signal's reason; the error of `work` */
  async run<K extends Kind>(
    { id, job, origin }: { id: string; job: JobOf<K>; origin?: Origin },
    sink: JobSink<K>,
    signal: AbortSignal,
    work: Work<K>,
  ): Promise<void> {
    const sharedWith = jobRules<K>(job.kind).sharedWith?.(job) ?? 'all';
    if (!origin?.mayBeRepeated || sharedWith === 'none') return work(sink, signal);
    // The choices of one request must not share a job: their ids end with the choice's index.
    const compared = 'file' in job ? { ...job, file: await hashOf(job.file) } : job;
    signal.throwIfAborted();
    const identity: Identity = [origin.client, id.slice(origin.request.length), compared];
    const [, found] = [...this.#running].find(([each]) => areEqual(each, identity)) ?? [];
    const known = found as SharedJob<K> | undefined;
    if (known && sharedWith === 'retries' && known.isConcurrentAttempt(origin.attempt)) {
      known.noteAttempt(origin.attempt);
      return work(sink, signal);
    }
    const running = known ?? new SharedJob<K>(work, () => this.#running.delete(identity));
    if (!known) this.#running.set(identity, running);
    return running.follow(sink, signal, origin.attempt);
  }
}

/** Compares plain data part by part: hashing megabytes of text would take a tenth of a second. */
function areEqual(one: unknown, other: unknown): boolean {
  if (one instanceof Float64Array && other instanceof Float64Array)
    return one.length === other.length && one.every((number, at) => number === other[at]);
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return Object.is(one, other);
  const [fields, others] = [Object.entries(one), Object.entries(other)];
  const isEqual = ([name, value]: [string, unknown], at: number): boolean =>
    name === others[at]?.[0] && areEqual(value, others[at]?.[1]);
  return fields.length === others.length && fields.every(isEqual);
}

const hashOf = async (file: Blob): Promise<string> => sha256(new Uint8Array(await file.arrayBuffer()));

/** Time within which an equal request is not a repetition: no client gives up so soon. */
const TOGETHER_MS = 1000;

/** Tolerance for the pauses between an SDK's attempts, which begin with half a second. */
const ATTEMPT_GRACE_MS = 2000;

const givenUp = (): ServiceError =>
  requestError(408, "The request was repeated: it exceeded the client's timeout.");

class SharedJob<K extends Kind> {
  readonly #past: Step<K>[] = [];
  readonly #sinks = new Set<JobSink<K>>();
  readonly #abandoned = new AbortController();
  readonly #end: Promise<void>;
  readonly #began = performance.now();
  #followers = 0;
  /** An SDK's attempts and their arrival times, without those that a later attempt has ended. */
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

  /** Whether an equal request is not a repetition: it is a first attempt, or, without a number, arrives almost at once. */
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

  /** Records an equal request that is computed separately, as a later attempt may be its repetition. */
  noteAttempt(number: number | undefined): void {
    if (number !== undefined)
      this.#attempts.push({ number, limit: new AbortController(), at: performance.now() });
  }

  /** Limits an attempt's time. A repetition reveals the client's timeout, after which the repetition is abandoned, too. */
  #limitOf(number: number): { signal: AbortSignal; stop(): void } {
    const limit = new AbortController();
    const at = performance.now();
    const [before, other] = this.#attempts.filter((attempt) => attempt.number === number - 1);
    this.#attempts.push({ number, limit, at });
    // With several equal requests, it is unknown which of them was repeated.
    if (!before || other) return { signal: limit.signal, stop: () => undefined };
    this.#attempts.splice(this.#attempts.indexOf(before), 1);
    // Wait until the repetition has joined the jobs of its other choices.
    setTimeout(() => before.limit.abort(givenUp()), ATTEMPT_GRACE_MS);
    const timer = setTimeout(() => limit.abort(givenUp()), at - before.at + ATTEMPT_GRACE_MS);
    return { signal: limit.signal, stop: () => clearTimeout(timer) };
  }

  async #pass(step: Step<K>): Promise<void> {
    this.#past.push(step);
    // Ignore failures: a sink whose request has ended is removed through its signal.
    await Promise.allSettled([...this.#sinks].map(step));
  }
}
