import { escaped } from '../printable.ts';
import type { ErrorCode } from './error-codes.ts';
import type { WireError } from './wire-error.ts';

/** Codes of failures that a retry would not fix. OpenAI's clients retry a 500 unless a header forbids it. */
const LASTING = new Set<ErrorCode | null>([
  'build_replaced',
  'device_unsupported',
  'download_cancelled',
  'model_load_failed',
  'model_unavailable',
  'out_of_memory',
  'protocol_mismatch',
  'storage_full',
  'storage_unavailable',
  'upstream_redirected',
  'weights_corrupt',
  'weights_unavailable',
  'worker_blocked',
]);

interface Options {
  /** Headers of the response. */
  headers?: Record<string, string>;
  cause?: unknown;
}

/** A failure of the service or of an engine that is safe to show to a client. No other error is shown. */
export class ServiceError extends Error {
  /**
   * WebKit evaluates a worker's script again for a chunk that imports it: a worker then has this class twice.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ServiceError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof Error && value.name === 'ServiceError' && 'wire' in value;
  }

  override readonly name = 'ServiceError';
  readonly wire: WireError;
  readonly #headers: Record<string, string>;

  /** @param wire its defaults are those of a 500 without a code */
  constructor(wire: Partial<WireError> & { message: string }, { headers = {}, cause }: Options = {}) {
    // Both may quote a client's text.
    const message = escaped(wire.message);
    const param = wire.param == null ? null : escaped(wire.param);
    super(message, cause === undefined ? undefined : { cause });
    this.wire = { status: 500, type: 'server_error', code: null, ...wire, message, param };
    this.#headers = headers;
  }

  get code(): ErrorCode | null {
    return this.wire.code;
  }

  /** `{"error":{"message","type","param","code"}}`: OpenAI's shape, always with all four fields. */
  toJSON(): { error: { message: string; type: string; param: string | null; code: ErrorCode | null } } {
    const { message, type, param, code } = this.wire;
    return { error: { message, type, param, code } };
  }

  toResponse(): Response {
    const headers = new Headers(this.#headers);
    headers.set('content-type', 'application/json');
    headers.set('cache-control', 'no-store');
    if (this.wire.status === 401) headers.set('www-authenticate', 'Bearer');
    if (LASTING.has(this.wire.code)) headers.set('x-should-retry', 'false');
    const { retryAfterMs } = this.wire;
    if (retryAfterMs !== undefined) {
      headers.set('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
      headers.set('retry-after-ms', String(Math.max(1, Math.ceil(retryAfterMs))));
    }
    return new Response(JSON.stringify(this), { status: this.wire.status, headers });
  }
}

/** Error in the request. */
export const requestError = (
  status: number,
  message: string,
  code: ErrorCode | null = null,
  param: string | null = null,
  headers: Record<string, string> = {},
): ServiceError =>
  new ServiceError({ status, type: 'invalid_request_error', code, param, message }, { headers });

/** A 400 that names the field. `rule`: what the field must be, without a period. */
export const invalidField = (param: string, rule: string, code: ErrorCode = 'invalid_value'): ServiceError =>
  requestError(400, `\`${param}\` ${rule}.`, code, param);

/** A 400 for a feature of OpenAI's service that this service, or the chosen model, lacks. */
export const unsupported = (param: string, rule: string): ServiceError =>
  invalidField(param, rule, 'unsupported_value');

/** A 400 for fields that exclude or need each other. */
export const conflicting = (param: string, rule: string): ServiceError =>
  invalidField(param, rule, 'invalid_parameter_combination');

export const rateLimited = (message: string, retryAfterMs: number): ServiceError =>
  new ServiceError({
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    message,
    retryAfterMs,
  });

export const serverError = (code: ErrorCode, message: string, cause?: unknown): ServiceError =>
  new ServiceError({ code, message }, { cause });

export function protocolMismatch(): ServiceError {
  const message = 'The tabs and the service worker of this site run different versions. Reload each tab.';
  return serverError('protocol_mismatch', message);
}

/** Advice for a full storage. */
export const PRIVATE_WINDOW = 'A private window has less storage.';

/**
 * Rethrows an error of the database. The browser's own, of private windows and full disks, is not shown: it may name
 * files of the user.
 */
export function storageUnavailable(cause: unknown): never {
  if (cause instanceof ServiceError) throw cause;
  const message =
    "This site's database in the browser cannot be read or written. Close the other tabs of this site, free disk space, or leave private browsing, and reload.";
  throw serverError('storage_unavailable', message, cause);
}

/**
 * Converts any thrown value to an error that may be shown. Unknown errors are replaced: messages may expose
 * internals.
 */
export function asServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const message = 'Something failed inside the service. Try again; if it fails again, reload the page.';
  return serverError('internal_error', message);
}
