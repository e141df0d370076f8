import { APIConnectionError, APIError } from 'openai';
import { EngineError } from '../../engine-error.ts';

/** What the client did wrong, or must wait for, is told in the server's words; the rest is the site's business. */
const PASSED_ON = new Set([400, 404, 413, 422, 429]);

export function asUpstreamFailure(error: unknown, key: string | undefined): EngineError {
  if (error instanceof EngineError) return error;
  if (error instanceof APIConnectionError || !(error instanceof APIError)) {
    const message = 'The server behind this model does not answer. Try again, or later.';
    return new EngineError({ code: 'upstream_unavailable', message }, error);
  }
  const status = error.status ?? 500;
  const retryAfterMs = retryAfter(error.headers);
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (status === 401 || status === 403) {
    const message = 'The server behind this model refused the key that the site gave for it.';
    return new EngineError({ code: 'upstream_refused', message }, error);
  }
  if (!PASSED_ON.has(status)) {
    const message = 'The server behind this model failed. Try again, or later.';
    return new EngineError({ code: 'upstream_failed', message, ...wait }, error);
  }
  const limited = status === 429;
  return new EngineError(
    {
      // A model that the server does not have is the catalog's fault, not the client's.
      status: limited ? 429 : status === 404 ? 500 : 400,
      type: limited ? 'rate_limit_error' : status === 404 ? 'server_error' : 'invalid_request_error',
      code: typeof error.code === 'string' ? error.code : limited ? 'rate_limit_exceeded' : null,
      param: error.param ?? null,
      message: withoutKey(messageOf(error), key),
      ...wait,
    },
    error,
  );
}

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
