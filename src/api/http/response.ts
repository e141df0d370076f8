import type { EmbeddingResult, Timings } from '../../protocol/job.ts';
import type { Call } from './call.ts';
import type { LimitState } from '../service-dependencies.ts';
import { streamOf, EventStream } from './event-stream.ts';
import { withTimeout } from '../../util/async.ts';
import { serverError } from '../service-error.ts';

/** The headers of an answer with this content type. `timings`: as far as they are known yet. */
export function answerHeaders(
  call: Call,
  contentType: string,
  timings: Partial<Timings & EmbeddingResult['timings']> = {},
): Headers {
  const headers = new Headers({
    'content-type': contentType,
    'cache-control': contentType === EVENT_STREAM ? 'no-cache, no-transform' : 'no-store',
  });
  const { queueMs, prefillMs, decodeMs, computeMs } = timings;
  const total = call.dependencies.now() - call.receivedAt;
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

/** An answer that is known without the engine. */
export const jsonResponse = (call: Call, body: object): Response =>
  new Response(streamOf(JSON.stringify(body)), { headers: answerHeaders(call, JSON_TYPE) });

export const JSON_TYPE = 'application/json';
export const EVENT_STREAM = 'text/event-stream';

/** Headers of every answer to a valid key, errors included. */
export function addCommonHeaders(headers: Headers, call: Call): void {
  headers.set('x-request-id', call.requestId);
  if (call.servedBy !== null) headers.set('localtext-served-by', call.servedBy);
  headers.set(
    'openai-processing-ms',
    String(Math.max(0, Math.round(call.dependencies.now() - call.receivedAt))),
  );
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

/** As OpenAI writes it: `120ms`, `1.5s`, `6m0s`. */
function toDuration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 100) / 10;
  if (seconds < 60) return `${seconds}s`;
  return `${Math.floor(seconds / 60)}m${Math.round(seconds % 60)}s`;
}

const round = (ms: number): number => Math.round(ms * 10) / 10;

/** Chromium ends a service worker's answer that has no headers after 310 s. */
const HEADERS_DEADLINE_MS = 290_000;

/**
 * An answer in one piece. Its status waits until it is known, so that a failure is a status and not a broken body.
 * Only at the deadline, and only while the engine computes, the headers are sent before the body.
 * @throws ServiceError what `answer` fails with; `model_not_ready` at the deadline
 */
export async function answerJson(
  call: Call,
  answer: Promise<string>,
  { isComputing, headers }: { isComputing: () => boolean; headers: () => Headers },
): Promise<Response> {
  const { trace, receivedAt, dependencies } = call;
  trace?.open();
  const spentMs = dependencies.now() - receivedAt;
  const whole = await withTimeout(answer, HEADERS_DEADLINE_MS - spentMs);
  if (whole !== null) {
    trace?.whole(whole);
    return new Response(streamOf(whole), { headers: headers() });
  }
  if (isComputing()) return new Response(lateBody(call, answer), { headers: headers() });
  const error = serverError(
    'model_not_ready',
    `The model did not begin to answer within ${HEADERS_DEADLINE_MS / 1000} s: it was still loading, or other requests came first. Load it beforehand with ready(), or send the request with "stream": true, which may wait longer.`,
  );
  call.abort.abort(error);
  answer.catch(() => undefined);
  throw error;
}

/** Breaks the body when the answer fails: its status has been sent. */
function lateBody({ trace, abort }: Call, answer: Promise<string>): EventStream['body'] {
  const stream = new EventStream(() => abort.abort(new Error('the client has left')));
  const send = async (): Promise<void> => {
    try {
      const text = await answer;
      if (stream.isClosed) return;
      trace?.done(text);
      stream.send(text);
      stream.end();
    } catch (error) {
      trace?.failed(error, stream.isClosed);
      stream.fail(error);
    }
  };
  void send();
  return stream.body;
}
