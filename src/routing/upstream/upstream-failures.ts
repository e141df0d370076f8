import type { ErrorCode } from '../../errors/error-codes.ts';
import type { WireError } from '../../errors/wire-error.ts';
import { ServiceError } from '../../api/service-error.ts';

/** The caller's own faults, told in the server's words. */
const CALLERS = new Set([400, 413, 422]);

/** A 429 that asks for a shorter pause, or for none, is passed on: its client waits and asks again. */
const LONG_RETRY_AFTER_MS = 5000;

/** A server's failure. */
export class UpstreamError extends ServiceError {
  /** The caller gets it, though another variant could answer the request. */
  readonly isForCaller: boolean;

  constructor(code: ErrorCode | null, message: string, more: Partial<WireError> = {}, isForCaller = false) {
    super({ status: 500, type: 'server_error', code, param: null, message, ...more });
    this.isForCaller = isForCaller;
  }
}

/** What a server's status means, as our own error, without the server's key. */
export async function statusFailure(
  response: Response,
  key: string | undefined,
  passThrough: readonly number[] = [],
): Promise<UpstreamError> {
  const { status, headers } = response;
  const told = await readError(response);
  const retryAfterMs = retryAfter(headers);
  const more = retryAfterMs === undefined ? {} : { retryAfterMs };
  const isForCaller = passThrough.includes(status);
  const type = 'invalid_request_error';
  if (status === 401 || status === 403) {
    const message = `refused the key that the site gave for it (${status}). Put a valid key into \`upstreamKeys\`.`;
    return fault('upstream_refused', message, { status, type }, isForCaller);
  }
  if (status === 404) {
    const message = 'does not know the model or the path (404). Check `model` and `baseUrl` in the catalog.';
    return fault('upstream_failed', message, {}, isForCaller);
  }
  const isLimit = status === 429;
  if (!isLimit && !CALLERS.has(status))
    return fault('upstream_failed', `failed (${status}). Try again, or later.`, more, isForCaller);
  const said = typeof told.message === 'string' && told.message ? told.message : `The server said ${status}.`;
  return new UpstreamError(
    // The server's own code is passed on, whether localtext knows it or not; some servers send a number.
    typeof told.code === 'string' ? (told.code as ErrorCode) : isLimit ? 'rate_limit_exceeded' : null,
    key ? said.replaceAll(key, '(key)') : said,
    {
      status: isLimit ? 429 : 400,
      type: isLimit ? 'rate_limit_error' : type,
      param: typeof told.param === 'string' ? told.param : null,
      ...more,
    },
    isForCaller || !isLimit || (retryAfterMs ?? 0) <= LONG_RETRY_AFTER_MS,
  );
}

/** A stream that ends without a finish reason would pass for a whole reply. */
export const cutShort = (): UpstreamError =>
  fault('upstream_failed', 'ended its reply before the end. Try again.');

export const timedOut = (): UpstreamError =>
  fault('upstream_unavailable', 'did not answer in time. Try again, or later.');

export const redirected = (): UpstreamError =>
  fault(
    'upstream_redirected',
    'redirects the request to another address. Redirects are not followed, so that prompts reach no other server. Put the final address into `baseUrl` in the catalog.',
  );

/** A browser tells nothing of why a request to another origin failed. */
export const unreachable = (): UpstreamError =>
  fault(
    'upstream_unavailable',
    `cannot be reached from this page: it is down, or it does not allow this origin. It must send \`Access-Control-Allow-Origin: ${globalThis.origin ?? '*'}\` (CORS) and allow the headers \`authorization\` and \`content-type\`.`,
  );

export const fault = (
  code: ErrorCode,
  message: string,
  more?: Partial<WireError>,
  isForCaller?: boolean,
): UpstreamError => new UpstreamError(code, `The server behind this model ${message}`, more, isForCaller);

async function readError(response: Response): Promise<Record<string, unknown>> {
  const body = (await response.json().catch(() => null)) as { error?: Record<string, unknown> } | null;
  return body?.error ?? {};
}

function retryAfter(headers: Headers): number | undefined {
  const milliseconds = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(milliseconds)) return milliseconds;
  const text = headers.get('retry-after');
  if (!text) return undefined;
  const seconds = Number(text);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}
