import type OpenAI from 'openai';
import { MAX_CHOICES } from '../body/request-body.ts';
import { toIncludeUsage, toSampling, type Generation } from '../generation/generation.ts';
import { admitGeneration } from '../generation/admission.ts';
import {
  answerChoices,
  answerHead,
  type AnswerHead,
  type ChoiceResult,
  WholeChoices,
} from '../generation/choices.ts';
import { type AnswerFormat, errorEvent } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { EVENT_STREAM } from '../http/response.ts';
import { conflicting, invalidField, TokenTexts } from '#base';
import type { CompletionBody } from './completion-schema.ts';
import type { ChatUsage, TokenLogprob } from '#jobs';
import { toUsage } from '../chat/chat-objects.ts';
import type { ChoiceEvent, FinishReason } from '../reply-parts.ts';

/** OpenAI's default, older than its endpoint for chats. */
const DEFAULT_MAX_TOKENS = 16;

/** POST /v1/completions */
export async function createCompletion(exchange: Exchange, request: CompletionBody): Promise<Response> {
  const prompts = [request.prompt ?? ''].flat().map((prompt) => prompt.toWellFormed());
  const choices = request.n ?? 1;
  if (prompts.length * choices > MAX_CHOICES) {
    const rule = `must be smaller: a request may have ${MAX_CHOICES} choices for all of its prompts together`;
    throw invalidField('n', rule);
  }
  if (request.echo && request.logprobs != null)
    throw conflicting('echo', 'cannot be combined with `logprobs`: prompts are not scored. Omit one of them');
  const generation: Generation = {
    model: request.model,
    inputs: prompts.map((prompt) => ({ prompt })),
    choices,
    sampling: toSampling(request),
    maxTokens: request.max_tokens ?? DEFAULT_MAX_TOKENS,
    constraint: null,
    topLogprobs: request.logprobs ?? null,
    stop: [request.stop ?? []].flat().map((each) => each.toWellFormed()),
    tools: null,
    reasoning: null,
    params: { messages: 'prompt', responseFormat: 'prompt' },
  };
  const options: CompletionOptions = {
    includeUsage: toIncludeUsage(request),
    echo: (index) => (request.echo ? (prompts[Math.floor(index / choices)] ?? '') : ''),
  };
  const run = await admitGeneration(exchange, generation, request.stream === true);
  const head = () => answerHead(run, 'cmpl-');
  const format = request.stream
    ? new CompletionEncoder(head, () => run.meter.total, options)
    : new WholeChoices(run, (results, usage) => toCompletion(head(), results, usage, options));
  return answerChoices(run, format);
}

interface CompletionOptions {
  includeUsage: boolean;
  /** Text that a choice begins with. */
  echo(index: number): string;
}

type Choice = OpenAI.CompletionChoice;

function toCompletion(
  head: AnswerHead,
  choices: readonly ChoiceResult[],
  usage: ChatUsage,
  { echo }: CompletionOptions,
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
 * token. The token itself is among the alternatives.
 */
function toLegacyLogprobs(logprobs: readonly TokenLogprob[], offset: number): Choice['logprobs'] {
  const texts = new TokenTexts();
  let at = offset;
  const offsets = logprobs.map((logprob) => {
    const start = at;
    at += texts.next(logprob).length;
    return start;
  });
  return {
    tokens: logprobs.map(nameOf),
    token_logprobs: logprobs.map(({ logprob }) => logprob),
    top_logprobs: logprobs.map((own) =>
      Object.fromEntries([...own.top, own].map((one) => [nameOf(one), one.logprob])),
    ),
    text_offset: offsets,
  };
}

/** Encodes a streamed completion: each chunk is a completion object with the new text only. */
class CompletionEncoder implements AnswerFormat<ChoiceEvent> {
  readonly type = EVENT_STREAM;
  readonly failure = errorEvent;
  readonly #getHead: () => AnswerHead;
  readonly #getUsage: () => ChatUsage;
  #head: AnswerHead | null = null;
  readonly #options: CompletionOptions;
  /** Characters sent, by choice. */
  readonly #sent: number[] = [];

  /** @param head is called at the first event */
  constructor(head: () => AnswerHead, usage: () => ChatUsage, options: CompletionOptions) {
    this.#getHead = head;
    this.#getUsage = usage;
    this.#options = options;
  }

  event(event: ChoiceEvent): string {
    const { index } = event;
    if (event.type === 'text') return this.#event(index, event.text, null, event.logprobs);
    if (event.type === 'finished') return this.#event(index, '', toReason(event.reason));
    const echo = event.type === 'accepted' ? this.#options.echo(index) : '';
    return echo === '' ? '' : this.#event(index, echo, null);
  }

  end(): string {
    const last = this.#options.includeUsage
      ? `data: ${JSON.stringify(this.#completion([], this.#getUsage()))}\n\n`
      : '';
    return `${last}data: [DONE]\n\n`;
  }

  #completion(choices: Choice[], usage: ChatUsage | null) {
    return completion((this.#head ??= this.#getHead()), choices, usage);
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
      // The client's types have only the finished choice; until then the reason is null.
      finish_reason: reason as Choice['finish_reason'],
    };
    const chunk = this.#completion([choice], null);
    return `data: ${JSON.stringify(this.#options.includeUsage ? { ...chunk, usage: null } : chunk)}\n\n`;
  }
}
