import { EngineError, badRequest, engineCrashed } from '../../engine-error.ts';

/**
 * How a request that llama.cpp's server refuses to parse comes out: the glue reads the input's magic number (`GLUE`)
 * as the length of an answer that was never written.
 */
const REFUSED = 'Invalid typed array length: 1163217991';

/** The package's errors carry little but their message: what is told apart, is told apart by it. */
export function fromWllamaError(error: unknown, constrained: boolean): EngineError {
  if (error instanceof EngineError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const overflow = /\((\d+) tokens\)[^(]*\((\d+) tokens\)/.exec(message);
  if (overflow && /context size/.test(message)) return tooLong(Number(overflow[1]), Number(overflow[2]));
  if (constrained && (message.includes(REFUSED) || /grammar|json.?schema/i.test(message))) {
    return badRequest(
      'The response format cannot be enforced: its JSON schema uses something that the grammar cannot express. Simplify the schema.',
      'response_format',
      'unsupported_value',
    );
  }
  if (error instanceof Error && error.name === 'RuntimeError') return engineCrashed(error);
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
