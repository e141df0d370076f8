import { wellFormed } from '../chat/chat-messages.ts';
import { MAX_CHOICES } from '../body/fields.ts';
import type { Generation } from '../generation/generation.ts';
import { refuseUnsupported, toIncludeUsage, toSampling } from '../body/request-fields.ts';
import { parseBody } from '../body/parse-body.ts';
import { invalidRequest, unsupported } from '../service-error.ts';
import { COMPLETION_REFUSED, completionSchema, type CompletionBody } from './completion-schema.ts';

export interface CompletionRequest {
  generation: Generation;
  /** What each choice's text starts with, by input. */
  echoes: string[];
  stream: boolean;
  includeUsage: boolean;
}

/** OpenAI's own, older than its endpoint for chats. */
const DEFAULT_MAX_TOKENS = 16;

/** @throws ServiceError 400 that names the field. */
export function parseCompletionRequest(body: Record<string, unknown>): CompletionRequest {
  const request: CompletionBody = parseBody(completionSchema, body);
  refuseUnsupported(body, COMPLETION_REFUSED);
  refuseCombinations(request);
  const prompts = [request.prompt].flat().map(wellFormed);
  const generation: Generation = {
    model: request.model,
    inputs: prompts.map((prompt) => ({ prompt })),
    choices: request.n ?? 1,
    sampling: toSampling(request),
    maxTokens: request.max_tokens ?? DEFAULT_MAX_TOKENS,
    constraint: null,
    topLogprobs: request.logprobs ?? null,
    stop: [request.stop ?? []].flat().map(wellFormed),
    tools: null,
  };
  return {
    generation,
    echoes: request.echo ? prompts : prompts.map(() => ''),
    stream: request.stream ?? false,
    includeUsage: toIncludeUsage(request),
  };
}

function refuseCombinations({ prompt, n, best_of: best, echo, logprobs }: CompletionBody): void {
  if ([prompt].flat().includes('')) {
    throw invalidRequest('prompt', '`prompt` must not be empty: give the text to continue.', 'invalid_value');
  }
  if ([prompt].flat().length * (n ?? 1) > MAX_CHOICES) {
    throw invalidRequest(
      'n',
      `\`n\` must be smaller: a request may have ${MAX_CHOICES} choices for all of its prompts together.`,
      'invalid_value',
    );
  }
  if (best != null && best !== (n ?? 1)) {
    throw unsupported(
      'best_of',
      '`best_of` must equal `n`: every generated choice is returned. Leave it out.',
    );
  }
  if (echo && logprobs != null) {
    throw unsupported(
      'echo',
      '`echo` cannot be used with `logprobs`: log probabilities of the prompt are not computed. Leave one of them out.',
    );
  }
}
