import { messageOf } from '#base';

/** Error of `/v1`. */
export class V1Error extends Error {
  readonly status: number;
  readonly code: string | null;

  constructor(status: number, { message, code = null }: { message?: string; code?: string | null } = {}) {
    super(message === undefined ? `/v1 answered with the status ${status}.` : inOwnNames(message));
    this.status = status;
    this.code = code;
  }
}

/** Replaces names of the request's fields by those that the page has used. */
const inOwnNames = (message: string): string =>
  message
    .replaceAll(/`messages[^`]*`/g, '`input`')
    .replaceAll('`guided_json', '`responseConstraint')
    .replaceAll('`max_completion_tokens`', '`maxTokens`')
    .replaceAll('].function.parameters', '].inputSchema')
    .replaceAll('].function', ']');

export const invalidState = (): DOMException =>
  new DOMException('The document is not active.', 'InvalidStateError');

export const notAllowed = (message: string): DOMException => new DOMException(message, 'NotAllowedError');

export const notSupported = (message: string): DOMException => new DOMException(message, 'NotSupportedError');

export const unknownError = (cause: unknown): DOMException =>
  new DOMException(messageOf(cause), 'UnknownError');

/** The class of Web IDL, which Firefox and Safari lack. */
class QuotaExceededError extends DOMException {
  readonly requested: number | null;
  readonly quota: number | null;

  constructor(message = '', counts: { requested?: number; quota?: number } = {}) {
    super(message, 'QuotaExceededError');
    this.requested = counts.requested ?? null;
    this.quota = counts.quota ?? null;
  }
}

/** Classes of exceptions that pages of Chrome find in the global scope. */
export const EXCEPTIONS = {
  QuotaExceededError:
    (globalThis as { QuotaExceededError?: typeof QuotaExceededError }).QuotaExceededError ??
    QuotaExceededError,
};

export function quotaExceeded(requested: number, quota: number): DOMException {
  const message = `The session takes ${requested} tokens with this input, and the context window has ${quota}, for the reply, too. Shorten the input.`;
  return new EXCEPTIONS.QuotaExceededError(message, { requested, quota });
}

/** Converts an error of a prompt into the exception that the standard has for it. */
export function promptException(error: unknown): unknown {
  if (!(error instanceof V1Error)) return error;
  const { status, message } = error;
  if (status === 401 || status === 403) return notAllowed(message);
  return status === 400 ? notSupported(message) : unknownError(error);
}
