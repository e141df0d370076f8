import { contextLengthExceeded, engineCrashed, requestError, serverError, ServiceError } from '#base';
import { imagesOf, type ChatJob } from '#jobs';
import { isCrowded, RequestRejectedError } from '#llama';
import { noTokens } from '../embedding-rules.ts';

/** Error of llama.cpp's server when it splits text into tokens or images into tiles, before it computes anything. */
const PROMPT_REFUSED = /Failed to (format input|tokenize prompt|load image)/;

/** Error of llama.cpp when a reply begins: it then creates the samplers, which parse the grammar. */
const GRAMMAR_REFUSED = /grammar|sampler|not understood/i;

/** Rejection of a prompt that is longer than the context. */
export type TooLongError = RequestRejectedError & { promptTokens: number; contextLength: number };

export const isTooLong = (error: unknown): error is TooLongError =>
  error instanceof RequestRejectedError &&
  error.promptTokens !== undefined &&
  error.contextLength !== undefined;

/** Translates the rejection of one request for its client. Any other error means that the engine is broken. */
export function asJobFailure(error: unknown, { constraint, input }: ChatJob): ServiceError {
  if (error instanceof ServiceError) return error;
  if (!(error instanceof RequestRejectedError)) return engineCrashed(error);
  if (isTooLong(error)) return contextLengthExceeded(error.promptTokens, error.contextLength);
  if (PROMPT_REFUSED.test(error.message)) {
    if (imagesOf(input).length === 0) return noTokens('messages');
    const message =
      'The engine could not prepare the images of this request: they take more memory than it has for them, or one is much longer than wide. Send fewer or other images.';
    return requestError(400, message, 'invalid_value', 'messages');
  }
  if (constraint !== undefined && GRAMMAR_REFUSED.test(error.message)) {
    const message =
      'The response format cannot be enforced: its JSON schema uses something that the grammar cannot express. Simplify the schema.';
    return requestError(400, message, 'unsupported_value', 'response_format');
  }
  const message = isCrowded(error)
    ? 'The replies that were generated at the same time filled the context that they share. Try again, or with a shorter conversation.'
    : 'The engine failed on this request. Try again, or with a shorter conversation.';
  return serverError('engine_failed', message, error);
}
