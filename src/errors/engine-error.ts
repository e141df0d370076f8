import type { ErrorCode } from './error-codes.ts';
import type { WireError } from './wire-error.ts';

/** A failure that is safe to show to a client. Any other error becomes `engine_failed`, without its message. */
export class EngineError extends Error {
  readonly wire: WireError;

  constructor(wire: Partial<WireError> & { message: string }, cause?: unknown) {
    super(wire.message, cause === undefined ? undefined : { cause });
    this.name = 'EngineError';
    this.wire = { status: 500, type: 'server_error', code: null, param: null, ...wire };
  }

  get code(): ErrorCode | null {
    return this.wire.code;
  }
}

export function badRequest(
  message: string,
  param: string | null,
  code: ErrorCode | null = null,
): EngineError {
  return new EngineError({ status: 400, type: 'invalid_request_error', code, param, message });
}

export const serverError = (code: ErrorCode, message: string, cause?: unknown): EngineError =>
  new EngineError({ code, message }, cause);

/** The prompt is longer than the model's context. */
export class ContextLengthError extends EngineError {
  /** Of the prompt, what fits; about. */
  readonly share: number;

  constructor(message: string, share: number) {
    const code = 'context_length_exceeded';
    super({ status: 400, type: 'invalid_request_error', code, param: 'messages', message });
    this.share = share;
  }
}

/** Both in tokens. */
export function contextLengthExceeded(promptTokens: number, contextLength: number): EngineError {
  return new ContextLengthError(
    `This model's context holds ${contextLength} tokens, and the prompt takes ${promptTokens}: ${promptTokens - contextLength + 1} too many, with one for the reply. Shorten the messages.`,
    contextLength / promptTokens,
  );
}

export function deviceLost(cause?: unknown): EngineError {
  return serverError(
    'device_lost',
    'The GPU was lost, often because its memory ran out. Try again: the next request reloads the model.',
    cause,
  );
}

/** The engine itself is unusable from here on: its owner must reload it. */
export function engineCrashed(cause: unknown): EngineError {
  console.error('localtext: an engine crashed', cause);
  return serverError(
    'engine_crashed',
    'The engine stopped while it ran this request. Try again: the next request reloads the model.',
    cause,
  );
}

export function toWireError(error: unknown): WireError {
  if (error instanceof EngineError) return error.wire;
  return {
    status: 500,
    type: 'server_error',
    code: 'engine_failed',
    param: null,
    message: 'The engine failed on this request. Try again; the console of the page has the details.',
  };
}
