import type OpenAI from 'openai';
import { MAX_CHOICES } from '../body/request-body.ts';
import { toIncludeUsage, toSampling, type Generation } from '../generation/generation.ts';
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
import { conflicting, invalidField, type ServiceError } from '../../errors/service-error.ts';
import type { CompletionBody } from './completion-schema.ts';
import type { ChatUsage, TokenLogprob } from '../../jobs/chat.ts';
import { toUsage } from '../chat/chat-objects.ts';
import type { FinishReason } from '../reply-parts.ts';
import { TokenTexts } from '../../util/token-texts.ts';

/** OpenAI's default, older than its endpoint for chats. */
const DEFAULT_MAX_TOKENS = 16;

/** POST /v1/completions */
export async function createCompletion(call: Call, request: CompletionBody): Promise<Response> {
  refuseCombinations(request);
  const prompts = toPrompts(request.prompt);
  const scoresPrompt = isScored(request);
  const generation: Generation = {
    model: request.model,
    inputs: prompts.map((prompt) => (typeof prompt === 'string' ? { prompt } : { tokens: prompt })),
    choices: request.best_of ?? request.n ?? 1,
    sampling: toSampling(request),
    maxTokens: request.max_tokens ?? DEFAULT_MAX_TOKENS,
    constraint: null,
    topLogprobs: request.logprobs ?? (isBestOf(request) || scoresPrompt ? 0 : null),
    scoresPrompt,
    stop: [request.stop ?? []].flat().map((each) => each.toWellFormed()),
    tools: null,
    reasoning: null,
    params: { messages: 'prompt', responseFormat: 'prompt' },
  };
  const perPrompt = request.n ?? 1;
  const options: CompletionOptions = {
    includeUsage: toIncludeUsage(request),
    hasLogprobs: request.logprobs != null,
    scoresPrompt,
    echo: (index) => (request.echo && !scoresPrompt ? String(prompts[Math.floor(index / perPrompt)]) : ''),
  };
  const format: AnswerFormat = {
    idPrefix: 'cmpl-',
    stream: (head) => new CompletionEncoder(head, options),
    whole: (head, choices, usage) =>
      toCompletion(head, isBestOf(request) ? bestOf(choices, request) : choices, usage, options),
  };
  const run = await admitGeneration(call, generation);
  return request.stream ? streamAnswer(run, format) : wholeAnswer(run, format);
}

function refuseCombinations({ prompt, n, best_of: best, stream }: CompletionBody): void {
  if (toPrompts(prompt).length * (best ?? n ?? 1) > MAX_CHOICES) {
    const rule = `must be smaller: a request may have ${MAX_CHOICES} choices for all of its prompts together`;
    throw invalidField(best == null ? 'n' : 'best_of', rule);
  }
  if (best != null && best < (n ?? 1))
    throw conflicting('best_of', 'must be at least `n`: the best `n` of its choices are returned');
  if (stream && isBestOf({ n, best_of: best }))
    throw conflicting('best_of', 'must equal `n` with `stream`: the best choices are known at the end');
}

type Prompt = string | number[];

/** Texts, or token ids. The schema has checked that they are of one form. */
function toPrompts(value: CompletionBody['prompt']): Prompt[] {
  if (value === null) return [''];
  if (typeof value === 'string') return [value.toWellFormed()];
  if (isTokens(value)) return [value];
  return value.map((prompt) => (typeof prompt === 'string' ? prompt.toWellFormed() : prompt));
}

const isTokens = (prompt: string[] | number[] | number[][]): prompt is number[] =>
  typeof prompt[0] === 'number';

interface CompletionOptions {
  includeUsage: boolean;
  hasLogprobs: boolean;
  /** Whether the engine returns the prompt as the first tokens of the reply. */
  scoresPrompt: boolean;
  /** Text that a choice begins with. */
  echo(index: number): string;
}

/**
 * Whether an echo waits for the engine, which reports a prompt's log probabilities and the text of its token
 * ids.
 */
const isScored = ({ echo, logprobs, prompt }: CompletionBody): boolean =>
  echo === true && (logprobs != null || toPrompts(prompt).some((each) => typeof each !== 'string'));

const isBestOf = ({ n, best_of: best }: Pick<CompletionBody, 'n' | 'best_of'>): boolean =>
  best != null && best > (n ?? 1);

/** Selects, for each prompt, the `n` choices with the highest log probability a token. */
function bestOf(choices: readonly ChoiceResult[], { n, best_of: best }: CompletionBody): ChoiceResult[] {
  const size = best ?? 1;
  return Array.from({ length: choices.length / size }, (_, prompt) =>
    choices
      .slice(prompt * size, (prompt + 1) * size)
      .toSorted((a, b) => meanLogprob(b) - meanLogprob(a))
      .slice(0, n ?? 1),
  ).flat();
}

const meanLogprob = ({ logprobs }: ChoiceResult): number =>
  (logprobs ?? []).reduce((sum, { logprob }) => sum + logprob, 0) / Math.max(1, logprobs?.length ?? 0);

type Choice = OpenAI.CompletionChoice;

function toCompletion(
  head: AnswerHead,
  choices: readonly ChoiceResult[],
  usage: ChatUsage,
  { echo, hasLogprobs, scoresPrompt }: CompletionOptions,
) {
  return completion(
    head,
    choices.map(({ text, logprobs, reason }, index) => ({
      text: echo(index) + text,
      index,
      logprobs: logprobs && hasLogprobs ? toLegacyLogprobs(logprobs, 0, scoresPrompt) : null,
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

/** Finish reason of this endpoint, which has no tools. */
const toReason = (reason: FinishReason): Choice['finish_reason'] =>
  reason === 'tool_calls' ? 'stop' : reason;

/**
 * Name of a token in this endpoint, which has no field `bytes`. As in OpenAI's service, a token that is part
 * of a character begins with `bytes:`.
 */
const nameOf = ({ token, bytes }: TokenLogprob['top'][number]): string =>
  bytes && encoder.encode(token).join() !== bytes.join() ? `bytes:${token}` : token;

const encoder = new TextEncoder();

/**
 * Converts log probabilities into this endpoint's parallel arrays. `offset`: characters before the first
 * token. `isPrompt`: the first token has nothing before it, and no log probability. The token itself is among
 * the alternatives.
 */
function toLegacyLogprobs(
  logprobs: readonly TokenLogprob[],
  offset: number,
  isPrompt: boolean,
): Choice['logprobs'] {
  const texts = new TokenTexts();
  let at = offset;
  const isFirst = (index: number): boolean => isPrompt && offset === 0 && index === 0;
  const offsets = logprobs.map((logprob) => {
    const start = at;
    at += texts.next(logprob).length;
    return start;
  });
  return {
    tokens: logprobs.map(nameOf),
    // The client's types have no null.
    token_logprobs: logprobs.map(({ logprob }, index) => (isFirst(index) ? null : logprob)) as number[],
    top_logprobs: logprobs.map((own, index) =>
      isFirst(index) ? null : Object.fromEntries([...own.top, own].map((one) => [nameOf(one), one.logprob])),
    ) as Record<string, number>[],
    text_offset: offsets,
  };
}

/** Encodes a streamed completion: each chunk is a completion object with the new text only. */
class CompletionEncoder implements StreamEncoder {
  readonly #head: AnswerHead;
  readonly #options: CompletionOptions;
  /** Characters sent, by choice. */
  readonly #sent: number[] = [];

  constructor(head: AnswerHead, options: CompletionOptions) {
    this.#head = head;
    this.#options = options;
  }

  encode(event: ChoiceEvent): string {
    const { index } = event;
    if (event.type === 'text') return this.#event(index, event.text, null, event.logprobs);
    if (event.type === 'finished') return this.#event(index, '', toReason(event.reason));
    const echo = event.type === 'accepted' ? this.#options.echo(index) : '';
    return echo === '' ? '' : this.#event(index, echo, null);
  }

  end(usage: ChatUsage): string {
    const last = this.#options.includeUsage
      ? `data: ${JSON.stringify(completion(this.#head, [], usage))}\n\n`
      : '';
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
    const { hasLogprobs, scoresPrompt, includeUsage } = this.#options;
    const choice = {
      text,
      index,
      logprobs: hasLogprobs && logprobs.length > 0 ? toLegacyLogprobs(logprobs, offset, scoresPrompt) : null,
      // The client's types have only the finished choice; until then the reason is null.
      finish_reason: reason as Choice['finish_reason'],
    };
    const chunk = completion(this.#head, [choice], null);
    return `data: ${JSON.stringify(includeUsage ? { ...chunk, usage: null } : chunk)}\n\n`;
  }
}
