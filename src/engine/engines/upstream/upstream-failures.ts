import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import type { ErrorCode } from '../../../protocol/error-codes.ts';
import { EngineError } from '../../../protocol/engine-error.ts';
import { UpstreamError } from './upstream-error.ts';

/** The caller's own faults, told in the server's words. */
const CALLERS = new Set([400, 413, 422]);

/** A 429 that asks for a shorter pause, or for none, is passed on: its client waits and asks again. */
const LONG_RETRY_AFTER_MS = 5000;

/** How a variant's failures are told. */
export interface FailureOptions {
  /** The server's key, which no message may contain. */
  key: string | undefined;
  /** Statuses that the site passes on to the caller. */
  passThrough?: number[];
}

/** What went wrong, as our own error. */
export function asUpstreamFailure(error: unknown, { key, passThrough = [] }: FailureOptions): EngineError {
  if (error instanceof EngineError) return error;
  if (error instanceof APIConnectionError && error.cause instanceof EngineError) return error.cause;
  if (error instanceof APIConnectionTimeoutError) {
    return fault('upstream_unavailable', 'did not answer in time. Try again, or later.', { cause: error });
  }
  if (error instanceof APIConnectionError || !(error instanceof APIError)) return unreachable(error);
  // An error event in a stream has none.
  if (error.status === undefined) return cutShort(error);
  const { status } = error;
  const retryAfterMs = retryAfter(error.headers);
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  const options = { cause: error, isForCaller: passThrough.includes(status) };
  if (status === 401 || status === 403) {
    const message = `refused the key that the site gave for it (${status}). Put a valid key into \`upstreamKeys\`.`;
    return fault('upstream_refused', message, options, { status, type: 'invalid_request_error' });
  }
  if (status === 404) {
    const message = 'does not know the model or the path (404). Check `model` and `baseUrl` in the catalog.';
    return fault('upstream_failed', message, options);
  }
  const limited = status === 429;
  if (!limited && !CALLERS.has(status)) {
    return fault('upstream_failed', `failed (${status}). Try again, or later.`, options, wait);
  }
  const isLong = limited && (retryAfterMs ?? 0) > LONG_RETRY_AFTER_MS;
  return new UpstreamError(
    {
      status: limited ? 429 : 400,
      type: limited ? 'rate_limit_error' : 'invalid_request_error',
      code: codeOf(error) ?? (limited ? 'rate_limit_exceeded' : null),
      param: error.param ?? null,
      message: withoutKey(messageOf(error), key),
      ...wait,
    },
    { cause: error, isForCaller: options.isForCaller || !isLong },
  );
}

/** A stream that ends without a finish reason would pass for a whole reply. */
export const cutShort = (cause?: unknown): UpstreamError =>
  fault('upstream_failed', 'ended its reply before the end. Try again.', { cause });

export const redirected = (): UpstreamError =>
  fault(
    'upstream_redirected',
    'redirects the request to another address. Redirects are not followed, so that prompts reach no other server. Put the final address into `baseUrl` in the catalog.',
  );

/** A browser tells a page nothing of why a request to another origin failed. */
const unreachable = (cause: unknown): UpstreamError =>
  fault(
    'upstream_unavailable',
    `cannot be reached from this page: it is down, or it does not allow this origin. It must send \`Access-Control-Allow-Origin: ${globalThis.origin ?? '*'}\` (CORS) and allow the headers \`authorization\` and \`content-type\`.`,
    { cause },
  );

export function fault(
  code: ErrorCode,
  message: string,
  options: { cause?: unknown; isForCaller?: boolean } = {},
  more: Partial<EngineError['wire']> = {},
): UpstreamError {
  return new UpstreamError({ code, message: `The server behind this model ${message}`, ...more }, options);
}

/** The server's own code is passed on, whether localtext knows it or not; some servers send a number. */
const codeOf = ({ code }: APIError): ErrorCode | null =>
  typeof code === 'string' ? (code as ErrorCode) : null;

/** The SDK puts the status before the server's message. */
function messageOf({ error, message }: APIError): string {
  const said = (error as { message?: unknown } | undefined)?.message;
  return typeof said === 'string' && said !== '' ? said : message;
}

function withoutKey(message: string, key: string | undefined): string {
  return key ? message.replaceAll(key, '(key)') : message;
}

function retryAfter(headers: Headers | undefined): number | undefined {
  const milliseconds = Number(headers?.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(milliseconds)) return milliseconds;
  const text = headers?.get('retry-after');
  if (!text) return undefined;
  const seconds = Number(text);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}
