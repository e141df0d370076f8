import type OpenAI from 'openai';
import { MAX_CHOICES } from '../body/request-body.ts';
import { toIncludeUsage, toSampling, type Generation } from '../generation/generation.ts';
import { wellFormed } from '../chat/chat.ts';
import { admitGeneration } from '../generation/admission.ts';
import {
  streamAnswer,
  wholeAnswer,
  type AnswerFormat,
  type AnswerHead,
  type ChoiceEvent,
  type ChoiceResult,
  type StreamEncoder,
} from '../generation/answers.ts';
import type { Call } from '../http/call.ts';
import { conflicting, invalidField, type ServiceError, unsupported } from '../../errors/service-error.ts';
import type { CompletionBody } from './completion-schema.ts';
import type { ChatUsage, TokenLogprob } from '../../jobs/chat.ts';
import { toUsage } from '../chat/chat-objects.ts';
import type { FinishReason } from '../reply-parts.ts';

/** OpenAI's default, older than its endpoint for chats. */
const DEFAULT_MAX_TOKENS = 16;

/** POST /v1/completions */
export async function createCompletion(call: Call, request: CompletionBody): Promise<Response> {
  refuseCombinations(request);
  const prompts = [request.prompt].flat().map(wellFormed);
  const generation: Generation = {
    model: request.model,
    inputs: prompts.map((prompt) => ({ prompt })),
    choices: request.best_of ?? request.n ?? 1,
    sampling: toSampling(request),
    maxTokens: request.max_tokens ?? DEFAULT_MAX_TOKENS,
    constraint: null,
    topLogprobs: request.logprobs ?? (isBestOf(request) ? 0 : null),
    stop: [request.stop ?? []].flat().map(wellFormed),
    tools: null,
    reasoning: null,
    params: { messages: 'prompt', responseFormat: 'prompt' },
  };
  const includeUsage = toIncludeUsage(request);
  const perPrompt = request.n ?? 1;
  const echo = (index: number): string =>
    request.echo ? (prompts[Math.floor(index / perPrompt)] ?? '') : '';
  const format: AnswerFormat = {
    idPrefix: 'cmpl-',
    stream: (head) => new CompletionEncoder(head, includeUsage, echo),
    whole: (head, choices, usage) =>
      toCompletion(head, isBestOf(request) ? bestOf(choices, request) : choices, usage, echo),
  };
  const run = await admitGeneration(call, generation);
  return request.stream ? streamAnswer(run, format) : wholeAnswer(run, format);
}

function refuseCombinations({ prompt, n, best_of: best, echo, logprobs, stream }: CompletionBody): void {
  if ([prompt].flat().length * (best ?? n ?? 1) > MAX_CHOICES) {
    const rule = `must be smaller: a request may have ${MAX_CHOICES} choices for all of its prompts together`;
    throw invalidField(best == null ? 'n' : 'best_of', rule);
  }
  if (best != null && best < (n ?? 1)) {
    throw conflicting('best_of', 'must be at least `n`: the best `n` of its choices are returned');
  }
  if (stream && isBestOf({ n, best_of: best })) {
    throw conflicting('best_of', 'must equal `n` with `stream`: the best choices are known at the end');
  }
  if (echo && logprobs != null) {
    const rule = 'cannot be used with `logprobs`: log probabilities of the prompt are not computed';
    throw unsupported('echo', `${rule}. Leave one of them out`);
  }
}

const isBestOf = ({ n, best_of: best }: Pick<CompletionBody, 'n' | 'best_of'>): boolean =>
  best != null && best > (n ?? 1);

/** Of each prompt's choices the `n` with the highest log probability a token. */
function bestOf(
  choices: readonly ChoiceResult[],
  { n, best_of: best, logprobs }: CompletionBody,
): ChoiceResult[] {
  const size = best ?? 1;
  return Array.from({ length: choices.length / size }, (_, prompt) =>
    choices
      .slice(prompt * size, (prompt + 1) * size)
      .toSorted((a, b) => meanLogprob(b) - meanLogprob(a))
      .slice(0, n ?? 1)
      .map((choice) => (logprobs == null ? { ...choice, logprobs: null } : choice)),
  ).flat();
}

const meanLogprob = ({ logprobs }: ChoiceResult): number =>
  (logprobs ?? []).reduce((sum, { logprob }) => sum + logprob, 0) / Math.max(1, logprobs?.length ?? 0);

type Choice = OpenAI.CompletionChoice;

function toCompletion(
  head: AnswerHead,
  choices: readonly ChoiceResult[],
  usage: ChatUsage,
  echo: (index: number) => string,
) {
  return completion(
    head,
    choices.map(({ text, logprobs, reason }, index) => ({
      text: echo(index) + text,
      index,
      logprobs: logprobs && toLegacyLogprobs(logprobs, 0),
      finish_reason: toReason(reason),
    })),
    usage,
  );
}

function completion(head: AnswerHead, choices: Choice[], usage: ChatUsage | null) {
  return {
    id: head.id,
    object: 'text_completion',
    created: head.created,
    model: head.model,
    system_fingerprint: head.fingerprint,
    choices,
    ...(usage ? { usage: toUsage(usage) } : {}),
  } satisfies OpenAI.Completion;
}

/** This endpoint has no tools. */
const toReason = (reason: FinishReason): Choice['finish_reason'] => (reason === 'length' ? 'length' : 'stop');

/** This endpoint's parallel arrays; `offset`: characters before the first token. */
function toLegacyLogprobs(logprobs: readonly TokenLogprob[], offset: number): Choice['logprobs'] {
  let at = offset;
  const offsets = logprobs.map(({ token }) => {
    at += token.length;
    return at - token.length;
  });
  return {
    tokens: logprobs.map(({ token }) => token),
    token_logprobs: logprobs.map(({ logprob }) => logprob),
    top_logprobs: logprobs.map(({ top }) =>
      Object.fromEntries(top.map(({ token, logprob }) => [token, logprob])),
    ),
    text_offset: offsets,
  };
}

/** The chunks of a streamed completion: each its own completion with the text that is new. */
class CompletionEncoder implements StreamEncoder {
  readonly #head: AnswerHead;
  readonly #includeUsage: boolean;
  readonly #echo: (index: number) => string;
  /** Characters sent, by choice. */
  readonly #sent: number[] = [];

  constructor(head: AnswerHead, includeUsage: boolean, echo: (index: number) => string) {
    this.#head = head;
    this.#includeUsage = includeUsage;
    this.#echo = echo;
  }

  encode(event: ChoiceEvent): string {
    const { index } = event;
    if (event.type === 'text') return this.#event(index, event.text, null, event.logprobs);
    if (event.type === 'finished') return this.#event(index, '', toReason(event.reason));
    const echo = event.type === 'accepted' ? this.#echo(index) : '';
    return echo === '' ? '' : this.#event(index, echo, null);
  }

  end(usage: ChatUsage): string {
    const last = this.#includeUsage ? `data: ${JSON.stringify(completion(this.#head, [], usage))}\n\n` : '';
    return `${last}data: [DONE]\n\n`;
  }

  failure(error: ServiceError): string {
    return `data: ${JSON.stringify(error)}\n\n`;
  }

  #event(
    index: number,
    text: string,
    reason: Choice['finish_reason'] | null,
    logprobs: readonly TokenLogprob[] = [],
  ): string {
    const offset = this.#sent[index] ?? 0;
    this.#sent[index] = offset + text.length;
    const choice = {
      text,
      index,
      logprobs: logprobs.length > 0 ? toLegacyLogprobs(logprobs, offset) : null,
      // The client's types know the finished choice alone; until then the reason is null.
      finish_reason: reason as Choice['finish_reason'],
    };
    const chunk = completion(this.#head, [choice], null);
    return `data: ${JSON.stringify(this.#includeUsage ? { ...chunk, usage: null } : chunk)}\n\n`;
  }
}
