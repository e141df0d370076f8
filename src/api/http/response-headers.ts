import type { EmbeddingResult, Timings } from '../../protocol/job.ts';
import type { Call } from './call.ts';
import type { LimitState } from '../service-dependencies.ts';
import { streamOf } from './event-stream.ts';

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
