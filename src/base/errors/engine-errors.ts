import { messageOf, printable } from '../printable.ts';
import { ServiceError, serverError } from './service-error.ts';
import type { WireError } from './wire-error.ts';

/** The prompt is longer than the model's context. */
export class ContextLengthError extends ServiceError {
  /** Estimated share of the prompt that fits. */
  readonly share: number;

  constructor(message: string, share: number) {
    const code = 'context_length_exceeded';
    super({ status: 400, type: 'invalid_request_error', code, param: 'messages', message });
    this.share = share;
  }
}

/** Avoids `instanceof`: see `ServiceError`. */
export const isContextLengthError = (error: unknown): error is ContextLengthError =>
  error instanceof ServiceError && error.code === 'context_length_exceeded' && 'share' in error;

/**
 * Error for a prompt that is too long; lengths are in tokens. `taken`: number and tokens of the prompt's
 * images, if it has any.
 */
export function contextLengthExceeded(
  promptTokens: number,
  contextLength: number,
  taken?: { images: number; tokens: number },
): ServiceError {
  const images =
    taken &&
    ` ${taken.images === 1 ? 'Its image takes' : `Its ${taken.images} images take`} ${taken.tokens} of them.`;
  const message = `This model's maximum context length is ${contextLength} tokens, and the prompt takes ${promptTokens}: ${promptTokens - contextLength + 1} too many, with one for the reply.${images ?? ''} Shorten the messages${taken ? ', or send fewer images' : ''}.`;
  return new ContextLengthError(message, contextLength / promptTokens);
}

export function deviceLost(cause?: unknown): ServiceError {
  const message =
    'The GPU was lost, often because its memory ran out. Try again: the next request reloads the model.';
  return serverError('device_lost', message, cause);
}

/** Error of an engine that is unusable from now on: its owner must reload it. */
export function engineCrashed(cause: unknown): ServiceError {
  console.error('localtext: an engine crashed', cause);
  const reason = cause ? ` (${printable(messageOf(cause), 200)})` : '';
  const message = `The engine stopped while it ran this request${reason}. Try again: the next request reloads the model.`;
  return serverError('engine_crashed', message, cause);
}

export function toWireError(error: unknown): WireError {
  if (error instanceof ServiceError) return error.wire;
  return {
    status: 500,
    type: 'server_error',
    code: 'engine_failed',
    param: null,
    message: 'The engine failed on this request. Try again; the console of the page has the details.',
  };
}

/** @param how fault of the file, after its path: `is not a GGUF` */
export function corruptFile(path: string, how: string, cause?: unknown): ServiceError {
  const message = `The weight file ${path} ${how}. Put the right file into the models folder, or correct the catalog.`;
  return serverError('weights_corrupt', message, cause);
}

/** Error of a model whose weights have broken numbers. */
export function notNumbers(): ServiceError {
  const message =
    'The model computed results that are not finite numbers. Its weights are damaged: use another file.';
  return serverError('engine_failed', message);
}

/** Error of a reply that was cut off. @param what cause, as a sentence without a period */
export const engineLost = (what = 'The engine ended before the reply was complete'): ServiceError =>
  serverError('engine_lost', `${what}. Send the request again.`);

/** Error of a tab whose build the server no longer has. */
export function buildReplaced(cause?: unknown): ServiceError {
  const message =
    'The site has a new build, and the server no longer has the files of this one. Call update(), then reload the tabs of this site.';
  return serverError('build_replaced', message, cause);
}
