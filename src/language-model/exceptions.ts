import { messageOf } from '#base';

/** Error of `/v1`. */
export class V1Error extends Error {
  readonly status: number;
  readonly code: string | null;

  constructor(status: number, { message, code = null }: { message?: string; code?: string | null } = {}) {
    super(message ?? `/v1 answered with the status ${status}.`);
    this.status = status;
    this.code = code;
  }
}

export const invalidState = (): DOMException =>
  new DOMException('The document is not active.', 'InvalidStateError');

export const notAllowed = (message: string): DOMException => new DOMException(message, 'NotAllowedError');

export const notSupported = (message: string): DOMException => new DOMException(message, 'NotSupportedError');

export const unknownError = (cause: unknown): DOMException =>
  new DOMException(messageOf(cause), 'UnknownError');

interface QuotaCounts {
  requested: number;
  quota: number;
}

/** `QuotaExceededError` of Web IDL, as a class where the browser has it. */
export function quotaExceeded(requested: number, quota: number): DOMException {
  const message = `The session takes ${requested} tokens with this input, and the context window has ${quota}, for the reply, too. Shorten the input.`;
  const { QuotaExceededError: Class } = globalThis as {
    QuotaExceededError?: new (message: string, counts: QuotaCounts) => DOMException;
  };
  if (Class) return new Class(message, { requested, quota });
  return Object.assign(new DOMException(message, 'QuotaExceededError'), { requested, quota });
}

/** Converts an error of a prompt into the exception that the standard has for it. */
export function promptException(error: unknown): unknown {
  if (!(error instanceof V1Error)) return error;
  const { status, message } = error;
  if (status === 401 || status === 403) return notAllowed(message);
  return status === 400 ? notSupported(message) : unknownError(error);
}
