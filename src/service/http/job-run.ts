import {
  engineLost,
  rateLimited,
  ServiceError,
  storageUnavailable,
  unsupported,
  delay,
  shortened,
} from '#base';
import {
  fingerprintOf,
  type Timings,
  type ChatImage,
  type ChatUsage,
  type EventOf,
  type JobEvent,
  type JobOf,
  type Kind,
} from '#jobs';
import type { Stage, Admitted, ModelDirectory, ModelEntry } from '#protocol';
import { requireModel, nameUsableModels } from '../model-list/models.ts';
import { type Exchange, runJob } from './exchange.ts';

/** Counts a request's tokens as engines report them, so that a request that fails is charged, too. */
export interface Meter {
  /** An engine may have computed the prompt of the job with this index. */
  computing(index: number): void;
  /** Tokens to charge to the key so far. */
  readonly charged: number;
  /** Counts for the request log, as far as an engine has told them. */
  readonly usage: Partial<ChatUsage>;
}

/** Meter of a request with one job. */
export class JobMeter implements Meter {
  charged = 0;
  usage: Partial<ChatUsage> = {};
  #estimate: number;

  /** @param estimate tokens of a job whose engine has begun and told no count */
  constructor(estimate: number) {
    this.#estimate = estimate;
  }

  computing(): void {
    this.charged = Math.max(this.charged, this.#estimate);
  }

  /** Replaces the estimate by what an engine has told so far. */
  count(charged: number, usage = this.usage): void {
    this.charged = charged;
    this.#estimate = 0;
    this.usage = usage;
  }
}

/** Receives what a job yields. */
export interface AnswerSink<Event> {
  stage(stage: Stage, index: number): void;
  /** Takes an event, and resolves once the next one may come. True: the job is over, and is stopped. */
  event(event: Event): Promise<boolean | void>;
}

export interface Admission<M extends Meter> {
  /** Model's id as the client gave it. */
  model: string;
  kind: Kind;
  meter: M;
  isStreamed: boolean;
  images?: readonly ChatImage[];
  /** Tokens taken from the key's limit until the run ends; null: the key's limits do not apply. */
  reserved: number | null;
}

/** Replaces the reserved tokens by the used ones. It never rejects. */
type Settle = (used: number) => Promise<void>;

/** Longest pause between two attempts at a full queue. */
const MAX_PAUSE_MS = 5000;

/** The jobs of one request. */
export type JobRun<M extends Meter = Meter> = Awaited<ReturnType<typeof admit<M>>>;

/**
 * Admits the jobs of one request. The result follows their stages, knows who serves them and their timings, and
 * charges the key once, however they end.
 * @throws ServiceError 404, 429; 400 for an image that the model cannot see
 */
export async function admit<M extends Meter>(exchange: Exchange, admission: Admission<M>) {
  const { models, admitted, trace, abort } = exchange;
  const { meter, isStreamed, kind, images: [image] = [], reserved } = admission;
  const model = await requireModel(models, admission.model, kind, admitted);
  if (image) await requireVision(models, model, image, admitted);
  const settle = reserved === null ? async () => {} : await reserve(exchange, reserved);
  let timings: Timings | null = null;

  async function runOnce<K extends Kind>(
    job: JobOf<K>,
    sink: AnswerSink<EventOf<K>>,
    id: string,
    index: number,
  ): Promise<void> {
    const { signal } = abort;
    let stage: Stage | null = null;
    try {
      for await (const event of runJob(exchange, job, model, isStreamed, id)) {
        signal.throwIfAborted();
        if (event.type === 'stage') {
          ({ stage } = event);
          if (event.servedBy !== undefined) trace.servedBy = event.servedBy;
          if (event.loosened) warn(exchange.warnings, event.loosened);
          if (stage === 'prefill') begin(index);
          sink.stage(stage, index);
          continue;
        }
        note(event, index);
        // Leaving the loop stops the engine.
        if ((await sink.event(event)) === true || event.type === 'done') return;
      }
      signal.throwIfAborted();
      throw engineLost();
    } catch (error) {
      // A server may compute the prompt of a request that is aborted before its answer.
      if (stage === 'sent' && signal.aborted) meter.computing(index);
      throw error;
    }
  }

  function note(event: JobEvent, index: number): void {
    begin(index);
    const fingerprint = fingerprintOf(event);
    if (fingerprint !== undefined) trace.servedBy = fingerprint;
    if (event.type === 'done') timings ??= event.timings ?? null;
  }

  function begin(index: number): void {
    trace.accepted();
    meter.computing(index);
  }

  return {
    exchange,
    model,
    meter,
    isStreamed,
    /**
     * Runs a job until its last event, or until the sink has enough.
     * @param options.id its id; default: the request's
     * @param options.index its place among the request's jobs
     * @param options.mayWait waits for a place if the queue is full: the reply so far would be lost
     * @throws ServiceError; the signal's reason when aborted
     */
    async run<K extends Kind>(
      job: JobOf<K>,
      sink: AnswerSink<EventOf<K>>,
      { id = exchange.id, index = 0, mayWait = false } = {},
    ): Promise<void> {
      for (;;) {
        try {
          return await runOnce(job, sink, id, index);
        } catch (error) {
          // A full queue rejects the job before any event. A server's limit is reported to the client.
          if (!mayWait || !(error instanceof ServiceError) || !error.wire.isQueueFull) throw error;
          await delay(Math.min(error.wire.retryAfterMs ?? 1000, MAX_PAUSE_MS), abort.signal);
        }
      }
    },
    /** Timings of the first job that ended, measured by its engine. Until then, timings measured here. */
    get timings(): Timings {
      if (timings) return timings;
      const { queueMs, firstTokenMs } = trace.waits;
      if (queueMs === null) return {};
      return firstTokenMs === null ? { queueMs } : { queueMs, prefillMs: firstTokenMs - queueMs };
    },
    /** Ends the count in flight, and charges the key. Called once, however the jobs end. Never rejects. */
    async end(): Promise<void> {
      exchange.leave();
      trace.usage(meter.usage);
      await settle(meter.charged);
    },
  };
}

/** Maximum places of schemas that a warning names. */
const MAX_PLACES = 16;

/** Adds warnings for places in a schema, once: each choice has the same. */
function warn(warnings: string[], places: readonly string[]): void {
  const named = places
    .slice(0, MAX_PLACES)
    .map((place) => shortened(place, 200).replaceAll(/[^\x20-\x7e]/g, '?'));
  if (places.length > MAX_PLACES) named.push('...');
  const warning = `Not enforced: ${named.join(', ')}.`;
  if (!warnings.includes(warning)) warnings.push(warning);
}

/** @throws ServiceError 400 */
async function requireVision(
  directory: ModelDirectory,
  { id, vision }: ModelEntry,
  image: ChatImage,
  admitted: Admitted,
): Promise<void> {
  if (vision?.()) return;
  const sees = (entry: ModelEntry): boolean => entry.vision?.() === true;
  const seeing = await nameUsableModels(directory, admitted, sees, 'vision');
  throw unsupported(image.param, `is an image, and ${id} does not see. Models that see: ${seeing}`);
}

/** Reserves the request's tokens from the key's limit. @throws ServiceError 429 */
async function reserve(exchange: Exchange, tokens: number): Promise<Settle> {
  const { admitted, dependencies } = exchange;
  const { exceeded, keyId } = admitted;
  const { keys } = dependencies;
  if (exceeded) throw usedUp(admitted, 'requests', exceeded.retryAfterMs);
  const { limits, retryAfterMs, taken } = await keys.reserve(keyId, tokens).catch(storageUnavailable);
  admitted.limits = limits;
  if (retryAfterMs !== null) throw usedUp(admitted, 'tokens', retryAfterMs);
  // The reply is valid even if its tokens cannot be counted.
  return (used) => keys.settle(keyId, taken, used).catch(() => {});
}

function usedUp({ limits }: Admitted, what: 'requests' | 'tokens', retryAfterMs: number): ServiceError {
  const limit = limits ? ` of ${limits[what].limit} ${what} a minute` : '';
  const wait = Math.ceil(retryAfterMs / 1000);
  return rateLimited(`This key's limit${limit} is used up. Retry in ${wait} s.`, retryAfterMs);
}
