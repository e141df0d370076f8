import { EngineError, badRequest, engineCrashed } from '../../engine-error.ts';
import { Refusal } from './llama-server.ts';

/** Its refusals of one request, told apart; anything else has broken it. */
export function fromWllamaError(error: unknown, constrained: boolean): EngineError {
  if (error instanceof EngineError) return error;
  if (!(error instanceof Refusal)) return engineCrashed(error);
  const { promptTokens, contextLength } = error;
  if (promptTokens && contextLength) return tooLong(promptTokens, contextLength);
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

function tooLong(promptTokens: number, contextLength: number): EngineError {
  return badRequest(
    `This model's context holds ${contextLength} tokens, and the messages take ${promptTokens}. Shorten the messages.`,
    'messages',
    'context_length_exceeded',
  );
}
