import type { Timings } from '#jobs';
import { withTimeout, serverError } from '#base';
import type { LimitState } from '#protocol';
import { type Call, followSignals } from './call.ts';

/** Maximum unread events before the engine waits for the reader; each kilobyte counts as one more. */
const HIGH_WATER_MARK = 64;

/** Streamed body of an answer. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #encoder = new TextEncoder();
  /** Controller of the body; null once the reader has cancelled, or the body has ended. */
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  #onRoom = (): void => {};

  constructor(onCancel: () => void) {
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#onRoom(),
        cancel: () => {
          this.#controller = null;
          this.#onRoom();
          // WebKit calls `cancel()` while it holds a lock that every event dispatch takes, as aborting a
          // signal does: the service worker would hang.
          queueMicrotask(onCancel);
        },
      },
      { highWaterMark: HIGH_WATER_MARK, size: ({ length }) => 1 + length / 1024 },
    );
  }

  /** Appends text to the body, unless it is closed. */
  send(text: string): void {
    if (text !== '') this.#controller?.enqueue(this.#encoder.encode(text));
  }

  get isFull(): boolean {
    return (this.#controller?.desiredSize ?? 1) <= 0;
  }

  /** Resolves when the reader has read, or has cancelled. For one caller at a time. */
  room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }

  get isClosed(): boolean {
    return this.#controller === null;
  }

  end(): void {
    this.#controller?.close();
    this.#controller = null;
  }

  fail(reason: unknown): void {
    this.#controller?.error(reason);
    this.#controller = null;
  }
}

/**
 * Body of a response that is one text. Chromium turns a string body into a Blob, which the page reads from
 * the browser process: that takes 1 ms more.
 */
function streamOf(text: string): EventStream['body'] {
  const stream = new EventStream(() => undefined);
  stream.send(text);
  stream.end();
  return stream.body;
}

/** The headers of an answer with this content type. `timings`: as far as they are known yet. */
export function answerHeaders(call: Call, contentType: string, timings: Timings = {}): Headers {
  const headers = new Headers({
    'content-type': contentType,
    'cache-control': contentType === EVENT_STREAM ? 'no-cache, no-transform' : 'no-store',
  });
  const { queueMs, prefillMs, decodeMs, computeMs } = timings;
  const total = Date.now() - call.receivedAt;
  const steps = Object.entries({
    queue: queueMs,
    prefill: prefillMs,
    decode: decodeMs,
    compute: computeMs,
    total,
  });
  const known = steps.flatMap(([name, ms]) => (ms === undefined ? [] : [`${name};dur=${round(ms)}`]));
  headers.set('server-timing', known.join(', '));
  return headers;
}

export const JSON_TYPE = 'application/json';
export const EVENT_STREAM = 'text/event-stream';

/** An answer that is known without the engine. */
export const textResponse = (call: Call, body: string, contentType: string): Response =>
  new Response(streamOf(body), { headers: answerHeaders(call, contentType) });

export const jsonResponse = (call: Call, body: object): Response =>
  textResponse(call, JSON.stringify(body), JSON_TYPE);

/** Headers of every answer to a valid key, errors included. */
export function addCommonHeaders(headers: Headers, call: Call): void {
  headers.set('x-request-id', call.requestId);
  if (call.warnings.length > 0) headers.set('localtext-warning', call.warnings.join(' '));
  if (call.servedBy !== null) headers.set('localtext-served-by', call.servedBy);
  headers.set('openai-processing-ms', String(Math.max(0, Math.round(Date.now() - call.receivedAt))));
  if (call.admitted.limits) addLimits(headers, call.admitted.limits);
}

function addLimits(headers: Headers, limits: LimitState): void {
  for (const what of ['requests', 'tokens'] as const) {
    const { limit, remaining, resetMs } = limits[what];
    headers.set(`x-ratelimit-limit-${what}`, String(limit));
    headers.set(`x-ratelimit-remaining-${what}`, String(Math.max(0, Math.floor(remaining))));
    headers.set(`x-ratelimit-reset-${what}`, toDuration(resetMs));
  }
}

/** Formats a duration as OpenAI does: `120ms`, `1.5s`, `6m0s`. */
function toDuration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 100) / 10;
  const whole = Math.round(seconds);
  return whole < 60 ? `${seconds}s` : `${Math.floor(whole / 60)}m${whole % 60}s`;
}

const round = (ms: number): number => Math.round(ms * 10) / 10;

/** Chromium ends a service worker's answer that has no headers after 310 s. */
const HEADERS_DEADLINE_MS = 290_000;

/**
 * Answers in one piece. The headers wait for the body, so that a failure is a status and not a broken body.
 * They are sent first only at the deadline, and only while the engine computes.
 * @throws ServiceError the error of `answer`; `model_not_ready` at the deadline
 */
export async function answerJson(
  call: Call,
  answer: Promise<string>,
  { isComputing, headers }: { isComputing: () => boolean; headers: () => Headers },
): Promise<Response> {
  const { trace, receivedAt } = call;
  trace.open();
  const spentMs = Date.now() - receivedAt;
  const whole = await withTimeout(answer, HEADERS_DEADLINE_MS - spentMs);
  if (whole !== null) {
    trace.whole(whole);
    return new Response(streamOf(whole), { headers: headers() });
  }
  if (isComputing()) return new Response(lateBody(call, answer), { headers: headers() });
  const error = serverError(
    'model_not_ready',
    `The model did not begin to answer within ${HEADERS_DEADLINE_MS / 1000} s: it was loading, or others came first. Load it with ready() before, or set "stream".`,
  );
  call.abort.abort(error);
  answer.catch(() => undefined);
  throw error;
}

/** Body that follows headers already sent. It breaks off if the answer fails. */
function lateBody({ trace, abort, request }: Call, answer: Promise<string>): EventStream['body'] {
  const stream = new EventStream(() => abort.abort(new Error('the client has left')));
  const { stop } = followSignals([request.signal], abort);
  const send = async (): Promise<void> => {
    try {
      const text = await answer;
      if (stream.isClosed) return;
      trace.done(text);
      stream.send(text);
      stream.end();
    } catch (error) {
      trace.failed(error, stream.isClosed || request.signal.aborted);
      stream.fail(error);
    } finally {
      stop();
    }
  };
  void send();
  return stream.body;
}
