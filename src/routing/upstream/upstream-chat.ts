import { type ChatEvent, type ChatJob, imagesOf, type TokenLogprob } from '../../jobs/chat.ts';
import type { EngineEvent } from '../../api/service-dependencies.ts';
import { ServiceError, unsupported } from '../../errors/service-error.ts';
import { chunkSchema, readUsage, tokensOfText } from './answer-schemas.ts';
import { readEvents } from './read-events.ts';
import type { z } from '../../util/zod.ts';
import { cutShort } from './upstream-failures.ts';
import { toUpstreamRequest } from './upstream-request.ts';
import type { UpstreamServer } from './upstream-server.ts';

/** A server that is silent for longer counts as down, and the next variant answers. Also between two tokens. */
const SILENCE_MS = 60_000;

/** That a server may add to a prompt: its template, and a system message. */
const MAX_TEMPLATE_TOKENS = 2048;
const MAX_IMAGE_TOKENS = 16_384;
/** Of thoughts that a server does not send, where the request has no limit. */
const MAX_HIDDEN_REASONING = 32_768;

/** Of a variant that does not name another. */
const FIRST_TOKEN_MS = 60_000;

type Choice = NonNullable<z.output<typeof chunkSchema>['choices']>[number];
type Logprobs = NonNullable<NonNullable<Choice['logprobs']>['content']>;

/**
 * One chat on a server. `accepted` comes with the first token: until then the next variant can answer unseen.
 * @throws ServiceError; the signal's reason when aborted
 */
export async function* upstreamChat(
  server: UpstreamServer,
  job: ChatJob,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent, void, undefined> {
  signal.throwIfAborted();
  if (job.countOnly)
    throw unsupported(
      'model',
      'names a model that a server runs here, which counts no tokens beforehand: `usage.prompt_tokens` of a reply has the count',
    );
  const { path, body } = toUpstreamRequest(job, server.variant.model);
  const { fingerprint } = server;
  const { contextLength, firstTokenMs = FIRST_TOKEN_MS } = server.variant;
  const left = new AbortController();
  const began = performance.now();
  let first: number | undefined;
  server.running++;
  try {
    yield { type: 'waiting', stage: 'checking' };
    const response = await server.post(path, body, AbortSignal.any([signal, left.signal]), SILENCE_MS);
    yield { type: 'waiting', stage: 'prefill', servedBy: fingerprint };
    // A server says how long the prompt is only at the end, which a client may not wait for.
    const accepted: ChatEvent = {
      type: 'accepted',
      accepted: { promptTokens: tokensOfText(undefined, charactersOf(job.input)), fingerprint },
    };
    const end = { finish: null as string | null, usage: undefined as unknown, tokens: 0, characters: 0 };
    const pace = { firstMs: firstTokenMs, pauseMs: SILENCE_MS, noun: 'token', isProgress: hasToken };
    for await (const chunk of readEvents(response, chunkSchema, pace, () => server.heard())) {
      end.usage = chunk.usage ?? end.usage;
      const choice = chunk.choices?.[0];
      if (!choice) continue;
      end.finish = choice.finish_reason ?? end.finish;
      if (!hasToken(chunk)) continue;
      const text = textOf(choice);
      const reasoning = reasoningOf(choice.delta);
      const logprobs = choice.logprobs?.content;
      end.characters += text.length + reasoning.length;
      if (first === undefined) yield accepted;
      first ??= performance.now();
      if (reasoning !== '') {
        end.tokens++;
        yield { type: 'delta', delta: { text: reasoning, tokens: 1, isReasoning: true } };
      }
      if (text !== '' || reasoning === '') {
        // One chunk is one token in most servers, and no server says otherwise; the usage at the end is exact.
        const tokens = logprobs?.length ?? 1;
        end.tokens += tokens;
        yield {
          type: 'delta',
          delta: { text, tokens, ...(logprobs && { logprobs: logprobs.map(toLogprob) }) },
        };
      }
    }
    signal.throwIfAborted();
    if (end.finish === null) throw cutShort();
    if (first === undefined) yield accepted;
    const now = performance.now();
    const usage = readUsage(end.usage, contextLength);
    const images = imagesOf(job.input).length;
    const promptTokens = tokensOfText(
      usage.prompt,
      charactersOf(job.input),
      MAX_TEMPLATE_TOKENS + images * MAX_IMAGE_TOKENS,
    );
    const hidden = Math.min(usage.reasoning ?? 0, job.maxTokens ?? MAX_HIDDEN_REASONING);
    const completionTokens = tokensOfText(usage.completion || end.tokens, end.characters, hidden);
    yield {
      type: 'done',
      finishReason: end.finish === 'length' ? 'length' : 'stop',
      usage: {
        promptTokens,
        cachedTokens: Math.min(usage.cached ?? 0, promptTokens),
        completionTokens,
        ...(usage.reasoning !== undefined && {
          reasoningTokens: Math.min(usage.reasoning, completionTokens),
        }),
      },
      timings: { queueMs: 0, prefillMs: (first ?? now) - began, decodeMs: now - (first ?? now) },
    };
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ServiceError ? error : cutShort();
  } finally {
    server.running--;
    // Leaving the loop early ends the server's work as well.
    left.abort();
  }
}

const textOf = ({ delta, text }: Choice): string => delta?.content ?? text ?? '';

function hasToken({ choices }: z.output<typeof chunkSchema>): boolean {
  const choice = choices?.[0];
  if (!choice) return false;
  return textOf(choice) !== '' || reasoningOf(choice.delta) !== '' || !!choice.logprobs?.content?.length;
}

function reasoningOf(delta: Choice['delta']): string {
  const text = delta?.reasoning_content ?? delta?.reasoning;
  return typeof text === 'string' ? text : '';
}

function charactersOf(input: ChatJob['input']): number {
  if ('prompt' in input) return input.prompt.length;
  return input.messages.reduce((total, { content }) => total + content.length, 0);
}

function toLogprob({ token, logprob, bytes, top_logprobs: top = [] }: Logprobs[number]): TokenLogprob {
  return {
    token,
    logprob,
    bytes: bytes ?? null,
    top: top.map((each) => ({ ...each, bytes: each.bytes ?? null })),
  };
}
