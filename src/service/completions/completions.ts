import type OpenAI from 'openai';
import { MAX_CHOICES } from '../body/request-body.ts';
import { toIncludeUsage, toSampling, type Generation } from '../generation/generation.ts';
import { admitGeneration } from '../generation/admission.ts';
import { answerCompletion, type ChoiceWriter } from '../generation/choices.ts';
import type { Exchange } from '../http/exchange.ts';
import { conflicting, invalidField, TokenTexts } from '#base';
import type { CompletionBody } from './completion-schema.ts';
import type { TokenLogprob } from '#jobs';
import type { FinishReason } from '../reply-parts.ts';

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
  const includeUsage = toIncludeUsage(request);
  const echo = (index: number): string => (request.echo ? (prompts[Math.floor(index / choices)] ?? '') : '');
  const run = await admitGeneration(exchange, generation, request.stream === true);
  return answerCompletion(run, completionWriter(echo), includeUsage);
}

type Choice = OpenAI.CompletionChoice;

/**
 * Writes the choices of completions. A chunk is a completion object with the new text only.
 * @param echo text that a choice begins with
 */
function completionWriter(
  echo: (index: number) => string,
): ChoiceWriter<OpenAI.Completion, OpenAI.Completion> {
  /** Characters sent, by choice. */
  const sent: number[] = [];
  const part = (index: number, text: string, logprobs: readonly TokenLogprob[] = []): Choice => {
    const offset = sent[index] ?? 0;
    sent[index] = offset + text.length;
    return {
      text,
      index,
      logprobs: logprobs.length > 0 ? toLegacyLogprobs(logprobs, offset) : null,
      // The client's types have only the finished choice; until then the reason is null.
      finish_reason: null as unknown as Choice['finish_reason'],
    };
  };
  return {
    idPrefix: 'cmpl-',
    objects: ['text_completion', 'text_completion'],
    whole: ({ text, logprobs, reason }, index) => ({
      text: echo(index) + text,
      index,
      logprobs: logprobs && toLegacyLogprobs(logprobs, 0),
      finish_reason: toReason(reason),
    }),
    part(event) {
      const { index } = event;
      if (event.type === 'text') return part(index, event.text, event.logprobs);
      if (event.type === 'finished') return { ...part(index, ''), finish_reason: toReason(event.reason) };
      const beginning = event.type === 'accepted' ? echo(index) : '';
      return beginning === '' ? null : part(index, beginning);
    },
  };
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
