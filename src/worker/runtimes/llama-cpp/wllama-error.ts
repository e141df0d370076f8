import {
  EngineError,
  badRequest,
  contextLengthExceeded,
  engineCrashed,
  serverError,
} from '../../../errors/engine-error.ts';
import { RequestRejectedError } from './internals/server-calls.ts';

/** Its refusals of one request, distinguished; anything else has broken it. */
export function fromWllamaError(error: unknown, constrained: boolean): EngineError {
  if (error instanceof EngineError) return error;
  if (!(error instanceof RequestRejectedError)) return engineCrashed(error);
  const { promptTokens, contextLength } = error;
  if (promptTokens && contextLength) return contextLengthExceeded(promptTokens, contextLength);
  if (constrained) {
    return badRequest(
      'The response format cannot be enforced: its JSON schema uses something that the grammar cannot express. Simplify the schema.',
      'response_format',
      'unsupported_value',
    );
  }
  const message = 'The engine failed on this request. Try again, or with a shorter conversation.';
  return serverError('engine_failed', message, error);
}

const MEMORY =
  /out of memory|bad_alloc|alloc(ate|ation)?\b.*fail|fail.*\balloc|could not allocate|memory access/i;

/** Recognises a lack of memory; any other error stays as it is. */
export function asLoadFailure(error: unknown, variant: string): unknown {
  if (error instanceof EngineError) return error;
  const text = error instanceof Error ? `${error.name} ${error.message}` : String(error);
  if (!MEMORY.test(text)) return error;
  const message = `There is too little memory for ${variant}. Close other tabs, or choose a smaller model.`;
  return serverError('out_of_memory', message, error);
}
