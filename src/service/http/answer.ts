import { asServiceError, serverError, abortable, createDeferred, type ServiceError } from '#base';
import type { EventOf, JobOf, Kind } from '#jobs';
import type { ModelEntry, Stage } from '#protocol';
import type { Exchange } from './exchange.ts';
import { admit, JobMeter, type Admission, type AnswerSink, type JobRun } from './job-run.ts';
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
 * Decides when the headers of an answer are sent, and fills the time before its first token with comments.
 * @param isEvents whether the answer can contain comments, and its headers wait for the jobs
 * @param jobs number of jobs that begin at once
 */
function answerStart(isEvents: boolean, jobs: number, send: (comment: string) => void) {
  let stage: Stage = 'loading';
  let state: 'holding headers' | 'commenting' | 'generating' = 'holding headers';
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Indices of the jobs that are known to be valid. */
  const valid = new Set<number>();
  const headersDue = createDeferred();

  const stop = (): void => clearTimeout(timer);

  function setDeadline(ms: number): void {
    stop();
    timer = setTimeout(headersDue.resolve, Math.max(0, ms));
  }

  /** Sends the headers once the first jobs are valid: an answer can then no longer fail before its first token. */
  function check(index: number): void {
    valid.add(index);
    if (valid.size >= jobs) headersDue.resolve();
  }

  function comment(isDueNow: boolean): void {
    const sendComment = () => send(`: waiting (${stage})\n\n`);
    state = 'commenting';
    stop();
    if (!isEvents) return;
    timer = setInterval(sendComment, HEARTBEAT_MS);
    if (isDueNow) sendComment();
  }

  return {
    headersDue: headersDue.promise,
    setDeadline,
    stop,
    stage(next: Stage, index: number): void {
      const isNew = next !== stage;
      stage = next;
      if (!isEvents) return;
      if (state === 'generating') comment(true);
      if (stage === 'prefill') check(index);
      else if (state === 'holding headers' && isNew) setDeadline(STAGE_DEADLINE_MS[stage]);
    },
    accepted(index: number): void {
      stage = 'prefill';
      if (isEvents) check(index);
    },
    generating(): void {
      if (state === 'generating') return;
      state = 'generating';
      stop();
      headersDue.resolve();
    },
    /** The headers are sent: comments follow, unless a token came first. */
    headersSent(isBodyEmpty: boolean): void {
      if (state === 'holding headers') comment(isBodyEmpty);
    },
  };
}

/**
 * Answers with what jobs yield. A stream's headers wait until the first jobs are known to be valid, or for the
 * deadline of their stage; comments follow until something is generated. Those of other answers wait for the end, or the
 * first bytes, so that a failure is a status; they are sent first only at the deadline, while an engine computes.
 * @param jobs number of jobs that begin at once
 * @throws ServiceError the error of `work` before the headers; `model_not_ready` at the deadline
 */
export async function respond<Event extends JobEvent>(
  run: JobRun,
  format: AnswerFormat<Event>,
  work: (sink: AnswerSink<Event>) => Promise<void>,
  jobs = 1,
): Promise<Response> {
  const { exchange } = run;
  const { abort, trace, watch } = exchange;
  const isEvents = format.type === EVENT_STREAM;
  const isStream = isEvents || format.isLive === true;
  /** Whether the jobs have ended, or the client has left first. */
  let isSettled = false;
  const body = new EventStream(() => {
    abandon();
    abort.abort(new Error('the client has left'));
  });
  const start = answerStart(isEvents, jobs, (comment) => body.send(comment));
  const hasClientLeft = (): boolean => body.isClosed || watch.gone.aborted;

  const sink: AnswerSink<Event> = {
    stage: start.stage,
    async event(event) {
      body.send(format.event(event));
      if (!isStream) return;
      if (event.type === 'accepted') return start.accepted(event.index ?? 0);
      start.generating();
      if (body.isFull) await abortable(body.room(), abort.signal);
    },
  };

  /** Runs the jobs, and charges the key. @returns the last text of the body */
  async function compute(): Promise<string> {
    try {
      await work(sink);
      isSettled = true;
    } catch (error) {
      if (hasClientLeft()) abandon();
      throw error;
    } finally {
      start.stop();
      await run.end();
    }
    return format.end?.() ?? '';
  }

  /** Does not wait for the engine's end: the client's next request may refer to the reply at once. */
  function abandon(): void {
    if (isSettled) return;
    isSettled = true;
    format.abandon?.();
  }

  /** @throws ServiceError for a whole answer that no engine has begun at the deadline */
  function checkDeadline(): void {
    if (isStream || trace.waits.queueMs !== null) return;
    const error = serverError(
      'model_not_ready',
      `The model did not begin to answer within ${HEADERS_DEADLINE_MS / 1000} s: it was loading, or others came first. Load it with ready() before, or set "stream".`,
    );
    abort.abort(error);
    throw error;
  }

  async function conclude(last: Promise<string>): Promise<void> {
    try {
      const text = await last;
      body.send(text);
      if (isStream) trace.done();
      else trace.done(text);
    } catch (error) {
      const hasLeft = hasClientLeft();
      trace.failed(error, hasLeft);
      if (hasLeft || !format.failure) body.fail(hasLeft ? watch.gone.reason : error);
      else body.send(await format.failure(asServiceError(error)));
    } finally {
      start.stop();
      watch.stop();
      body.end();
    }
  }

  watch.gone.addEventListener('abort', abandon, { once: true });
  start.setDeadline(isEvents ? STAGE_DEADLINE_MS.loading : HEADERS_DEADLINE_MS - trace.passedMs);
  trace.continues(isStream);
  const last = compute();
  try {
    await Promise.race([last, start.headersDue.then(checkDeadline)]);
  } catch (error) {
    last.catch(() => undefined);
    throw error;
  }
  if (isStream) start.headersSent(body.isEmpty);
  void conclude(last);
  return new Response(body.body, { headers: answerHeaders(exchange, format.type, run.timings) });
}

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
  const run = await admit(exchange, { ...admission, meter, isStreamed: false });
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
