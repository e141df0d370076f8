import {
  EngineError,
  badRequest,
  contextLengthExceeded,
  engineCrashed,
} from '../../../protocol/engine-error.ts';
import { RequestRejectedError } from './server-calls.ts';

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
  return new EngineError(
    {
      code: 'engine_failed',
      message: 'The engine failed on this request. Try again, or with a shorter conversation.',
    },
    error,
  );
}
