import { asServiceError, serverError, abortable, createDeferred, type ServiceError } from '#base';
import type { EventOf, JobOf, Kind } from '#jobs';
import type { ModelEntry, Stage } from '#protocol';
import type { Exchange } from './exchange.ts';
import { JobMeter, JobRun, type Admission, type AnswerSink } from './job-run.ts';
import { answerHeaders, EVENT_STREAM, EventStream, JSON_TYPE } from './response.ts';

/** How an endpoint writes its answer. A whole answer is gathered from the same events, and written at the end. */
export interface AnswerFormat<Event> {
  /** Content type. `text/event-stream` is sent while it is generated, every other type in one piece. */
  readonly type: string;
  /** Set if an answer of another type is sent while it is generated, too. */
  readonly isLive?: true;
  /** Takes an event. @returns the text or bytes to send now, if any */
  event(event: Event): string | Uint8Array<ArrayBuffer>;
  /** Text after the last event: of a whole answer all of it. Absent: none. */
  end?(): string | Promise<string>;
  /** Encodes an error as an event of a stream, whose status has been sent already. The SDKs throw it. */
  failure?(error: ServiceError): string | Promise<string>;
  /** Ends the reply of a client that has left. */
  abandon?(): void;
}

/**
 * How long the headers of a stream wait in each stage, in milliseconds: until they are sent a failure is a
 * status, and an abort is invisible. Looking for an engine counts as loading, and fails after 60 s.
 */
const STAGE_DEADLINE_MS: Record<Exclude<Stage, 'prefill'>, number> = {
  loading: 75_000,
  queued: 2000,
  checking: 60_000,
  sent: 60_000,
};

/** Time between comments on a stream without a token. */
const HEARTBEAT_MS = 5000;

/** Chromium ends a service worker's answer that has no headers after 310 s. */
const HEADERS_DEADLINE_MS = 290_000;

interface JobEvent {
  type: string;
  index?: number;
}

/**
 * Answers with what jobs yield. A stream's headers wait until the first jobs are known to be valid, or for the
 * deadline of their stage; comments follow until something is generated. Those of other answers wait for the end, or the
 * first bytes, so that a failure is a status; they are sent first only at the deadline, while an engine computes.
 * @param jobs number of jobs that begin at once
 * @throws ServiceError the error of `work` before the headers; `model_not_ready` at the deadline
 */
export const respond = <Event extends JobEvent>(
  run: JobRun,
  format: AnswerFormat<Event>,
  work: (sink: AnswerSink<Event>) => Promise<void>,
  jobs = 1,
): Promise<Response> => new Answer(run, format, jobs).respond(work);

/**
 * Answers with one JSON object, of one job.
 * @param read counts an event; returns the answer when it is complete, which ends the job
 * @param translate renames fields in an engine's error
 */
export async function answerWhole<K extends Kind>(
  exchange: Exchange,
  admission: Omit<Admission<JobMeter>, 'meter' | 'isStreamed'> & { kind: K },
  toJob: (model: ModelEntry) => JobOf<K>,
  read: (event: EventOf<K>, meter: JobMeter) => object | null,
  translate: (error: unknown) => unknown = (error) => error,
): Promise<Response> {
  const meter = new JobMeter(admission.reserved ?? 0);
  const run = await JobRun.admit(exchange, { ...admission, meter, isStreamed: false });
  let answer: object | null = null;
  const format: AnswerFormat<EventOf<K>> = {
    type: JSON_TYPE,
    event(event) {
      answer = read(event, meter);
      return '';
    },
    end: () => JSON.stringify(answer),
  };
  return respond(run, format, async (sink) => {
    const untilAnswered: AnswerSink<EventOf<K>> = {
      stage: (...stage) => sink.stage(...stage),
      event: (event) => sink.event(event).then(() => answer !== null),
    };
    await run.run(toJob(run.model), untilAnswered).catch((error: unknown) => {
      throw translate(error);
    });
  });
}

class Answer<Event extends JobEvent> implements AnswerSink<Event> {
  readonly #run: JobRun;
  readonly #format: AnswerFormat<Event>;
  /** Whether a failure can be written into it. */
  readonly #isEvents: boolean;
  readonly #isStream: boolean;
  readonly #body: EventStream;
  #stage: Stage = 'loading';
  #state: 'holding headers' | 'commenting' | 'generating' = 'holding headers';
  #hasSent = false;
  #isAbandoned = false;
  /** Whether the jobs have ended. */
  #isOver = false;
  readonly #jobs: number;
  /** Indices of the jobs that are known to be valid. */
  readonly #checked = new Set<number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #headersDue = createDeferred();

  constructor(run: JobRun, format: AnswerFormat<Event>, jobs: number) {
    const { abort, trace, watch } = run.exchange;
    this.#run = run;
    this.#format = format;
    this.#jobs = jobs;
    this.#isEvents = format.type === EVENT_STREAM;
    this.#isStream = this.#isEvents || format.isLive === true;
    this.#body = new EventStream(() => {
      this.#abandon();
      abort.abort(new Error('the client has left'));
    });
    watch.gone.addEventListener('abort', () => this.#abandon(), { once: true });
    this.#due(this.#isEvents ? STAGE_DEADLINE_MS.loading : HEADERS_DEADLINE_MS - trace.passedMs);
  }

  stage(stage: Stage, index: number): void {
    const isNew = stage !== this.#stage;
    this.#stage = stage;
    if (!this.#isEvents) return;
    if (this.#state === 'generating') this.#comment(true);
    if (stage === 'prefill') this.#check(index);
    else if (this.#state === 'holding headers' && isNew) this.#due(STAGE_DEADLINE_MS[stage]);
  }

  async event(event: Event): Promise<void> {
    this.#send(this.#format.event(event));
    if (!this.#isStream) return;
    if (event.type === 'accepted') {
      this.#stage = 'prefill';
      if (this.#isEvents) this.#check(event.index ?? 0);
      return;
    }
    this.#generating();
    if (this.#body.isFull) await abortable(this.#body.room(), this.#run.exchange.abort.signal);
  }

  async respond(work: (sink: AnswerSink<Event>) => Promise<void>): Promise<Response> {
    const { exchange } = this.#run;
    exchange.trace.continues(this.#isStream);
    const last = this.#compute(work);
    try {
      await Promise.race([last, this.#headersDue.promise.then(() => this.#checkDeadline())]);
    } catch (error) {
      this.#stopTimer();
      last.catch(() => undefined);
      throw error;
    }
    if (this.#isStream && this.#state === 'holding headers') this.#comment(!this.#hasSent);
    void this.#conclude(last);
    return new Response(this.#body.body, {
      headers: answerHeaders(exchange, this.#format.type, this.#run.timings),
    });
  }

  /** Runs the jobs, and charges the key. @returns the last text of the body */
  async #compute(work: (sink: AnswerSink<Event>) => Promise<void>): Promise<string> {
    try {
      await work(this);
      this.#isOver = true;
    } catch (error) {
      if (this.#clientHasLeft) this.#abandon();
      throw error;
    } finally {
      this.#stopTimer();
      await this.#run.end();
    }
    return this.#format.end?.() ?? '';
  }

  /** @throws ServiceError for a whole answer that no engine has begun at the deadline */
  #checkDeadline(): void {
    if (this.#isStream || this.#run.exchange.trace.waits.queueMs !== null) return;
    const error = serverError(
      'model_not_ready',
      `The model did not begin to answer within ${HEADERS_DEADLINE_MS / 1000} s: it was loading, or others came first. Load it with ready() before, or set "stream".`,
    );
    this.#run.exchange.abort.abort(error);
    throw error;
  }

  async #conclude(last: Promise<string>): Promise<void> {
    const { trace, watch } = this.#run.exchange;
    try {
      const text = await last;
      this.#send(text);
      if (this.#isStream) trace.done();
      else trace.done(text);
    } catch (error) {
      trace.failed(error, this.#clientHasLeft);
      const { failure } = this.#format;
      if (this.#clientHasLeft || !failure) this.#body.fail(this.#clientHasLeft ? watch.gone.reason : error);
      else this.#send(await failure.call(this.#format, asServiceError(error)));
    } finally {
      this.#stopTimer();
      watch.stop();
      this.#body.end();
    }
  }

  /** Does not wait for the engine's end: the client's next request may refer to the reply at once. */
  #abandon(): void {
    if (this.#isAbandoned || this.#isOver) return;
    this.#isAbandoned = true;
    this.#format.abandon?.();
  }

  get #clientHasLeft(): boolean {
    return this.#body.isClosed || this.#run.exchange.watch.gone.aborted;
  }

  #send(part: string | Uint8Array<ArrayBuffer>): void {
    if (part.length === 0) return;
    this.#hasSent = true;
    this.#body.send(part);
  }

  /** Sends the headers once the first jobs are valid: an answer can then no longer fail before its first token. */
  #check(index: number): void {
    this.#checked.add(index);
    if (this.#checked.size >= this.#jobs) this.#headersDue.resolve();
  }

  #generating(): void {
    if (this.#state === 'generating') return;
    this.#state = 'generating';
    this.#stopTimer();
    this.#headersDue.resolve();
  }

  #due(ms: number): void {
    this.#stopTimer();
    this.#timer = setTimeout(this.#headersDue.resolve, Math.max(0, ms));
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
  }

  /** Sends comments while nothing is generated. */
  #comment(commentNow: boolean): void {
    const comment = () => this.#send(`: waiting (${this.#stage})\n\n`);
    this.#state = 'commenting';
    this.#stopTimer();
    if (!this.#isEvents) return;
    this.#timer = setInterval(comment, HEARTBEAT_MS);
    if (commentNow) comment();
  }
}
