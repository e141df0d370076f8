import {
  charactersOf,
  imagesOf,
  type ChatEvent,
  type ChatJob,
  type ChatUsage,
  type Delta,
  type EngineFinishReason,
  type TokenLogprob,
} from '#jobs';
import { unsupported, type z } from '#base';
import { chunkSchema, readUsage, tokensOfText } from './answer-schemas.ts';
import { readEvents } from './read-events.ts';
import { brokeBound, cutShort } from './upstream-failures.ts';
import { toUpstreamRequest } from './upstream-request.ts';
import type { RunOnServer, UpstreamServer } from './upstream-server.ts';

/**
 * Maximum silence, also between two tokens. After it the server counts as down, and the next variant answers.
 */
const SILENCE_MS = 60_000;

/** Tokens that a server may add to a prompt: its template, and a system message. */
const MAX_TEMPLATE_TOKENS = 2048;
const MAX_IMAGE_TOKENS = 16_384;
/** Maximum reasoning tokens that a server computes without sending them, if the request has no limit. */
const MAX_HIDDEN_REASONING = 32_768;

/** Default of a variant's `firstTokenMs`. */
const FIRST_TOKEN_MS = 60_000;

/**
 * More characters than any vocabulary's tokens have, except runs of spaces: `SLACK_CHARACTERS` allows for
 * those.
 */
const MAX_REPLY_CHARACTERS_A_TOKEN = 32;
const SLACK_CHARACTERS = 4096;

type Chunk = z.output<typeof chunkSchema>;
type Choice = NonNullable<Chunk['choices']>[number];
type Logprobs = NonNullable<NonNullable<Choice['logprobs']>['content']>;

/**
 * Runs one chat on a server. `accepted` is sent with the first token: until then the next variant can answer
 * unseen.
 */
export const upstreamChat: RunOnServer<'chat'> = async function* (server, job, signal) {
  if (job.countOnly)
    throw unsupported(
      'model',
      'names a model of a server: servers do not count tokens in advance, see `usage.prompt_tokens` of a reply',
    );
  const { path, body } = toUpstreamRequest(job, server.variant.model);
  const { firstTokenMs = FIRST_TOKEN_MS } = server.variant;
  const reply = replyReader(server, job);
  const response = await server.post(path, body, signal, { silenceMs: SILENCE_MS });
  yield { type: 'stage', stage: 'prefill', servedBy: server.fingerprint };
  const pace = { firstMs: firstTokenMs, pauseMs: SILENCE_MS, noun: 'token', isProgress: hasToken, isEnd };
  for await (const chunk of readEvents(response, chunkSchema, pace, () => server.noteData()))
    yield* reply.read(chunk);
  signal.throwIfAborted();
  yield* reply.end();
};

/** Converts a server's chunks to events, and counts their contents. */
function replyReader({ fingerprint, variant }: UpstreamServer, { input, maxTokens }: ChatJob) {
  const { contextLength } = variant;
  const promptCharacters = charactersOf(input);
  const began = performance.now();
  /** Time of the first token. */
  let first: number | undefined;
  let finish: string | null = null;
  let lastUsage: unknown;
  let tokens = 0;
  let characters = 0;
  let logprobs = 0;
  /** Whether the reply has reasoning, which the `max_tokens` of some servers does not count. */
  let thinks = false;

  /** @throws UpstreamError for a reply of more text than was asked for, or than the context holds */
  function checkLength(): void {
    const most = thinks ? contextLength : Math.min(maxTokens ?? contextLength, contextLength);
    if (Math.max(characters, logprobs) > most * MAX_REPLY_CHARACTERS_A_TOKEN + SLACK_CHARACTERS)
      throw brokeBound('did not end its reply');
  }

  /** `accepted` with an estimated prompt length: a server reports the length only at the end. */
  const accepted = (): ChatEvent => ({
    type: 'accepted',
    accepted: { promptTokens: tokensOfText(undefined, promptCharacters), fingerprint },
  });

  function countUsage(): ChatUsage {
    const usage = readUsage(lastUsage, contextLength);
    const added = MAX_TEMPLATE_TOKENS + imagesOf(input).length * MAX_IMAGE_TOKENS;
    const promptTokens = tokensOfText(usage.prompt, promptCharacters, added);
    const hidden = Math.min(usage.reasoning ?? 0, maxTokens ?? MAX_HIDDEN_REASONING);
    const completionTokens = tokensOfText(usage.completion || tokens, characters, hidden);
    const cachedTokens = Math.min(usage.cached ?? 0, promptTokens);
    const counted = { promptTokens, cachedTokens, completionTokens };
    if (usage.reasoning === undefined) return counted;
    return { ...counted, reasoningTokens: Math.min(usage.reasoning, completionTokens) };
  }

  return {
    *read(chunk: Chunk): Generator<ChatEvent> {
      lastUsage = chunk.usage ?? lastUsage;
      const choice = chunk.choices?.[0];
      finish = choice?.finish_reason ?? finish;
      for (const delta of choice ? deltasOf(choice) : []) {
        if (first === undefined) yield accepted();
        first ??= performance.now();
        tokens += delta.tokens;
        characters += delta.text.length;
        logprobs += delta.logprobs?.length ?? 0;
        thinks ||= delta.isReasoning ?? false;
        checkLength();
        yield { type: 'delta', delta };
      }
    },

    /** @throws UpstreamError when the reply is not whole */
    *end(): Generator<ChatEvent> {
      const finishReason = toFinishReason(finish);
      if (first === undefined) yield accepted();
      const now = performance.now();
      const prefillMs = (first ?? now) - began;
      const timings = { prefillMs, decodeMs: now - began - prefillMs };
      yield { type: 'done', finishReason, usage: countUsage(), timings };
    },
  };
}

/** Reasons of a reply that is not whole: vLLM's and SGLang's, OpenRouter's and Mistral's, DeepSeek's. */
const CUT_SHORT = new Set([null, 'abort', 'error', 'insufficient_system_resource']);

/** @throws UpstreamError when the reply is not whole */
function toFinishReason(reason: string | null): EngineFinishReason {
  if (CUT_SHORT.has(reason)) throw cutShort();
  // Mistral.
  if (reason === 'model_length') return 'length';
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}

function deltasOf(choice: Choice): Delta[] {
  const text = textOf(choice);
  const reasoning = reasoningOf(choice.delta);
  const thought: Delta[] =
    reasoning === ''
      ? []
      : [{ text: reasoning, tokens: tokensOfText(1, reasoning.length), isReasoning: true }];
  const logprobs = logprobsOf(choice.logprobs);
  if (text === '' && (reasoning !== '' || !logprobs?.length)) return thought;
  // One chunk is one token in most servers, others send whole sentences; the usage at the end is exact.
  const tokens = tokensOfText(Math.min(logprobs?.length ?? 1, 4 * text.length), text.length);
  return [...thought, { text, tokens, ...(logprobs && { logprobs }) }];
}

const textOf = ({ delta, text }: Choice): string => delta?.content ?? text ?? '';

/** Whether the chunk has text. Log probabilities alone do not prove that a token was generated. */
const hasToken = ({ choices }: Chunk): boolean => {
  const choice = choices?.[0];
  return !!choice && textOf(choice) + reasoningOf(choice.delta) !== '';
};

const isEnd = ({ choices }: Chunk): boolean => !!choices?.[0]?.finish_reason;

function reasoningOf(delta: Choice['delta']): string {
  const text = delta?.reasoning_content ?? delta?.reasoning;
  return typeof text === 'string' ? text : '';
}

/**
 * Reads log probabilities in the chat or the completion format. llama.cpp's server uses the chat format for
 * both.
 */
function logprobsOf(logprobs: Choice['logprobs']): TokenLogprob[] | undefined {
  if (logprobs?.content) return logprobs.content.map(toLogprob);
  return logprobs?.tokens?.map((token, index) => ({
    token,
    logprob: logprobs.token_logprobs?.[index] ?? 0,
    bytes: null,
    top: Object.entries(logprobs.top_logprobs?.[index] ?? {}).map(([other, logprob]) => ({
      token: other,
      logprob,
      bytes: null,
    })),
  }));
}

function toLogprob({ token, logprob, bytes, top_logprobs: top = [] }: Logprobs[number]): TokenLogprob {
  return {
    token,
    logprob,
    bytes: bytes ?? null,
    top: top.map((each) => ({ ...each, bytes: each.bytes ?? null })),
  };
}
