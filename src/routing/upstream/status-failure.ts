import { dropBody, retryAfterMs, type ErrorCode, type WireError, type z } from '#base';
import { errorBodySchema, errorSchema } from './answer-schemas.ts';
import { readJsonBody } from './read-answer.ts';
import { upstreamError, UpstreamError } from './upstream-failures.ts';

/** Errors whose message is passed on: faults of the request, and limits. */
const DESCRIBED = new Set([400, 413, 422, 429]);

/** A 429 with a shorter `retry-after`, or none, is passed on: the client waits and retries. */
const LONG_RETRY_AFTER_MS = 5000;

/** A longer `retry-after` of the server takes precedence. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Maximum size of an error's body. */
const MAX_ERROR_BYTES = 64 * 1024;
const MAX_ERROR_MS = 5000;
const MAX_MESSAGE_CHARACTERS = 1000;

/**
 * Converts a server's error status to a ServiceError, without the server's key. A status in `passThrough` keeps
 * its number and the server's words. A body that is too long, or
 * does not end, is a failure of the server, whatever the status.
 */
export async function statusFailure(
  response: Response,
  key: string | undefined,
  passThrough: readonly number[] = [],
): Promise<UpstreamError> {
  const { status, headers } = response;
  const isForClient = passThrough.includes(status);
  const askedMs = retryAfterMs(headers);
  const waitMs = Math.min(askedMs ?? 0, MAX_RETRY_AFTER_MS);
  const more = askedMs === undefined ? {} : { retryAfterMs: waitMs };
  if (!isForClient && !DESCRIBED.has(status)) {
    dropBody(response);
    return undescribedFailure(status, more);
  }
  const details = await readError(response, key);
  if (details instanceof UpstreamError) return details;
  const shown = isForClient || status === 429 ? status : 400;
  const [type, code] = kindOf(shown);
  const isLongLimit = status === 429 && waitMs > LONG_RETRY_AFTER_MS;
  return new UpstreamError(
    // The server's own code is passed on, whether localtext knows it or not; some servers send a number.
    (details.code as ErrorCode) || code,
    details.message.slice(0, MAX_MESSAGE_CHARACTERS) || `The server answered ${shown}.`,
    { status: shown, type, param: details.param || null, passOn: isLongLimit && !isForClient, ...more },
  );
}

/** Error in our words: the server's may tell of the site's key, or of its inside. */
function undescribedFailure(status: number, more: { retryAfterMs?: number }): UpstreamError {
  if (status === 401 || status === 403) {
    const message = `refused the key that the site gave for it (${status}). Put a valid key into \`upstreamKeys\`.`;
    return upstreamError('upstream_refused', message, { status, type: 'invalid_request_error' });
  }
  const message =
    status === 404
      ? 'does not know the model or the path (404). Check `model` and `baseUrl` in the catalog.'
      : `failed (${status}). Try again, or later.`;
  return upstreamError('upstream_failed', message, more);
}

/** Type of a status, and its code if the server names none. */
function kindOf(status: number): [WireError['type'], ErrorCode | null] {
  if (status === 429) return ['rate_limit_error', 'rate_limit_exceeded'];
  if (status >= 500) return ['server_error', 'upstream_failed'];
  return ['invalid_request_error', status === 401 || status === 403 ? 'upstream_refused' : null];
}

async function readError(
  response: Response,
  key: string | undefined,
): Promise<UpstreamError | z.output<typeof errorSchema>> {
  try {
    const body = errorBodySchema.parse(await readJsonBody(response, MAX_ERROR_BYTES, MAX_ERROR_MS));
    const told = body['error'] ?? body['detail'] ?? body;
    const error = errorSchema.parse(typeof told === 'string' ? { message: told } : told);
    const message = key ? error.message.replaceAll(key, '(key)') : error.message;
    return { ...error, message: message.replaceAll(/\p{Cc}+/gu, ' ') };
  } catch (error) {
    return error instanceof UpstreamError ? error : { message: '', code: '', param: '' };
  }
}
