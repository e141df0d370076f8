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
  /** Whether a failure can be written into the answer. */
  const isEvents = format.type === EVENT_STREAM;
  const isStream = isEvents || format.isLive === true;
  let currentStage: Stage = 'loading';
  let state: 'holding headers' | 'commenting' | 'generating' = 'holding headers';
  let hasSent = false;
  let isAbandoned = false;
  /** Whether the jobs have ended. */
  let isOver = false;
  /** Indices of the jobs that are known to be valid. */
  const checked = new Set<number>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const headersDue = createDeferred();
  const body = new EventStream(() => {
    abandon();
    abort.abort(new Error('the client has left'));
  });
  const hasClientLeft = (): boolean => body.isClosed || watch.gone.aborted;
  const stopTimer = (): void => clearTimeout(timer);

  const sink: AnswerSink<Event> = {
    stage(stage, index) {
      const isNew = stage !== currentStage;
      currentStage = stage;
      if (!isEvents) return;
      if (state === 'generating') comment(true);
      if (stage === 'prefill') check(index);
      else if (state === 'holding headers' && isNew) setDeadline(STAGE_DEADLINE_MS[stage]);
    },
    async event(event) {
      send(format.event(event));
      if (!isStream) return;
      if (event.type === 'accepted') {
        currentStage = 'prefill';
        if (isEvents) check(event.index ?? 0);
        return;
      }
      generating();
      if (body.isFull) await abortable(body.room(), abort.signal);
    },
  };

  /** Runs the jobs, and charges the key. @returns the last text of the body */
  async function compute(): Promise<string> {
    try {
      await work(sink);
      isOver = true;
    } catch (error) {
      if (hasClientLeft()) abandon();
      throw error;
    } finally {
      stopTimer();
      await run.end();
    }
    return format.end?.() ?? '';
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
      send(text);
      if (isStream) trace.done();
      else trace.done(text);
    } catch (error) {
      const hasLeft = hasClientLeft();
      trace.failed(error, hasLeft);
      if (hasLeft || !format.failure) body.fail(hasLeft ? watch.gone.reason : error);
      else send(await format.failure(asServiceError(error)));
    } finally {
      stopTimer();
      watch.stop();
      body.end();
    }
  }

  /** Does not wait for the engine's end: the client's next request may refer to the reply at once. */
  function abandon(): void {
    if (isAbandoned || isOver) return;
    isAbandoned = true;
    format.abandon?.();
  }

  function send(part: string | Uint8Array<ArrayBuffer>): void {
    if (part.length === 0) return;
    hasSent = true;
    body.send(part);
  }

  /** Sends the headers once the first jobs are valid: an answer can then no longer fail before its first token. */
  function check(index: number): void {
    checked.add(index);
    if (checked.size >= jobs) headersDue.resolve();
  }

  function generating(): void {
    if (state === 'generating') return;
    state = 'generating';
    stopTimer();
    headersDue.resolve();
  }

  function setDeadline(ms: number): void {
    stopTimer();
    timer = setTimeout(headersDue.resolve, Math.max(0, ms));
  }

  /** Sends comments while nothing is generated. */
  function comment(commentNow: boolean): void {
    const sendComment = () => send(`: waiting (${currentStage})\n\n`);
    state = 'commenting';
    stopTimer();
    if (!isEvents) return;
    timer = setInterval(sendComment, HEARTBEAT_MS);
    if (commentNow) sendComment();
  }

  watch.gone.addEventListener('abort', abandon, { once: true });
  setDeadline(isEvents ? STAGE_DEADLINE_MS.loading : HEADERS_DEADLINE_MS - trace.passedMs);
  trace.continues(isStream);
  const last = compute();
  try {
    await Promise.race([last, headersDue.promise.then(checkDeadline)]);
  } catch (error) {
    stopTimer();
    last.catch(() => undefined);
    throw error;
  }
  if (isStream && state === 'holding headers') comment(!hasSent);
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
