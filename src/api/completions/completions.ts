import { MAX_CHOICES } from '../body/body-bounds.ts';
import { toIncludeUsage, toSampling } from '../body/request-fields.ts';
import { wellFormed } from '../chat/chat-messages.ts';
import { admitGeneration } from '../generation/admission.ts';
import type { AnswerFormat } from '../generation/answer-format.ts';
import { inputOf, type Generation } from '../generation/generation.ts';
import { streamAnswer } from '../generation/streamed-answer.ts';
import { wholeAnswer } from '../generation/whole-answer.ts';
import type { Call } from '../http/call.ts';
import { invalidField, unsupported } from '../service-error.ts';
import { CompletionEncoder, toCompletion } from './completion-objects.ts';
import type { CompletionBody } from './completion-schema.ts';

/** OpenAI's default, older than its endpoint for chats. */
const DEFAULT_MAX_TOKENS = 16;

/** POST /v1/completions */
export async function createCompletion(call: Call, request: CompletionBody): Promise<Response> {
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
    reasoning: null,
    params: { messages: 'prompt', responseFormat: 'prompt' },
  };
  const includeUsage = toIncludeUsage(request);
  const echo = (index: number): string => (request.echo ? (prompts[inputOf(generation, index)] ?? '') : '');
  const format: AnswerFormat = {
    idPrefix: 'cmpl-',
    stream: (head) => new CompletionEncoder(head, includeUsage, echo),
    whole: (head, choices, usage) => toCompletion(head, choices, usage, echo),
  };
  const run = await admitGeneration(call, generation);
  return request.stream ? streamAnswer(run, format) : wholeAnswer(run, format);
}

function refuseCombinations({ prompt, n, best_of: best, echo, logprobs }: CompletionBody): void {
  if ([prompt].flat().includes('')) {
    throw invalidField('prompt', 'must not be empty: give the text to continue');
  }
  if ([prompt].flat().length * (n ?? 1) > MAX_CHOICES) {
    const rule = `must be smaller: a request may have ${MAX_CHOICES} choices for all of its prompts together`;
    throw invalidField('n', rule);
  }
  if (best != null && best !== (n ?? 1)) {
    throw unsupported('best_of', 'must equal `n`: every generated choice is returned. Leave it out');
  }
  if (echo && logprobs != null) {
    const rule = 'cannot be used with `logprobs`: log probabilities of the prompt are not computed';
    throw unsupported('echo', `${rule}. Leave one of them out`);
  }
}
