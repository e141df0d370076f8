import { createDeferred } from '#base';
import type { Timings } from '#jobs';
import type { LimitState } from '#protocol';
import type { Exchange } from './exchange.ts';

/** Unread events after which the engine waits. An event counts 1 + its kilobytes. */
const HIGH_WATER_MARK = 64;

/** Streamed body of an answer. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #encoder = new TextEncoder();
  /** Controller of the body; null once the reader has cancelled, or the body has ended. */
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  #room = createDeferred();
  /** Whether nothing has been sent. */
  isEmpty = true;

  constructor(onCancel: () => void) {
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#makeRoom(),
        cancel: () => {
          this.#controller = null;
          this.#makeRoom();
          // WebKit calls `cancel()` while it holds a lock that every event dispatch takes, as aborting a
          // signal does: the service worker would hang.
          queueMicrotask(onCancel);
        },
      },
      { highWaterMark: HIGH_WATER_MARK, size: ({ length }) => 1 + length / 1024 },
    );
  }

  /** Appends text or bytes to the body, unless it is closed. */
  send(part: string | Uint8Array<ArrayBuffer>): void {
    if (part.length === 0) return;
    this.isEmpty = false;
    this.#controller?.enqueue(typeof part === 'string' ? this.#encoder.encode(part) : part);
  }

  get isFull(): boolean {
    return (this.#controller?.desiredSize ?? 1) <= 0;
  }

  /** Resolves when the reader has read, or has cancelled. */
  room(): Promise<void> {
    return this.#room.promise;
  }

  #makeRoom(): void {
    this.#room.resolve();
    this.#room = createDeferred();
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
export function answerHeaders(exchange: Exchange, contentType: string, timings: Timings = {}): Headers {
  const headers = new Headers({
    'content-type': contentType,
    'cache-control': contentType === EVENT_STREAM ? 'no-cache, no-transform' : 'no-store',
  });
  const { queueMs, prefillMs, decodeMs, computeMs } = timings;
  const steps = Object.entries({
    queue: queueMs,
    prefill: prefillMs,
    decode: decodeMs,
    compute: computeMs,
    total: exchange.trace.passedMs,
  });
  const known = steps.flatMap(([name, ms]) => (ms === undefined ? [] : [`${name};dur=${round(ms)}`]));
  headers.set('server-timing', known.join(', '));
  return headers;
}

export const JSON_TYPE = 'application/json';
export const EVENT_STREAM = 'text/event-stream';

/** Server-sent event without a name. */
export const dataEvent = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

/** An answer that is known without the engine. */
export const textResponse = (exchange: Exchange, body: string, contentType: string): Response =>
  new Response(streamOf(body), { headers: answerHeaders(exchange, contentType) });

export const jsonResponse = (exchange: Exchange, body: object): Response =>
  textResponse(exchange, JSON.stringify(body), JSON_TYPE);

/** Headers of every answer to a valid key, errors included. */
export function addCommonHeaders(headers: Headers, exchange: Exchange): void {
  headers.set('x-request-id', exchange.requestId);
  if (exchange.warnings.length > 0) headers.set('localtext-warning', exchange.warnings.join(' '));
  const { servedBy } = exchange.trace;
  if (servedBy !== null) headers.set('localtext-served-by', servedBy);
  headers.set('openai-processing-ms', String(exchange.trace.passedMs));
  if (exchange.admitted.limits) addLimits(headers, exchange.admitted.limits);
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
