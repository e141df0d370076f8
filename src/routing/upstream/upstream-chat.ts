import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { Completion } from 'openai/resources/completions';
import type { ChatEvent, ChatJob, TokenLogprob } from '../../protocol/job.ts';
import type { EngineEvent } from '../../api/service-dependencies.ts';
import { ServiceError } from '../../api/service-error.ts';
import { readEvents } from './read-events.ts';
import { cutShort } from './upstream-failures.ts';
import { toUpstreamRequest } from './upstream-request.ts';
import type { UpstreamServer } from './upstream-server.ts';

/** A server that is silent for longer counts as down, and the next variant answers. */
const SILENCE_MS = 60_000;

type Chunk = ChatCompletionChunk | Completion;
type Logprobs = NonNullable<NonNullable<ChatCompletionChunk['choices'][number]['logprobs']>['content']>;

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
  const { path, body } = toUpstreamRequest(job, server.variant.model);
  const { fingerprint } = server;
  const left = new AbortController();
  const began = performance.now();
  let first: number | undefined;
  server.running++;
  try {
    yield { type: 'waiting', stage: 'checking' };
    const response = await server.post(path, body, AbortSignal.any([signal, left.signal]), SILENCE_MS);
    yield { type: 'waiting', stage: 'prefill', servedBy: fingerprint };
    // A server says how long the prompt is only at the end.
    const accepted: ChatEvent = { type: 'accepted', accepted: { promptTokens: 0, fingerprint } };
    const end = { finish: null as string | null, usage: null as Chunk['usage'] | null, tokens: 0 };
    for await (const chunk of readEvents<Chunk>(response, () => server.heard())) {
      end.usage = chunk.usage ?? end.usage;
      const choice = chunk.choices?.[0];
      if (!choice) continue;
      end.finish = choice.finish_reason ?? end.finish;
      const text = ('delta' in choice ? choice.delta.content : choice.text) ?? '';
      const reasoning = 'delta' in choice ? reasoningOf(choice.delta) : '';
      const logprobs = 'delta' in choice ? choice.logprobs?.content : null;
      if (text === '' && reasoning === '' && !logprobs?.length) continue;
      if (first === undefined) yield accepted;
      first ??= performance.now();
      if (reasoning !== '') {
        end.tokens++;
        yield { type: 'delta', delta: { text: reasoning, tokens: 1, isReasoning: true } };
        if (text === '') continue;
      }
      // One chunk is one token in most servers, and no server says otherwise; the usage at the end is exact.
      const tokens = logprobs?.length ?? 1;
      end.tokens += tokens;
      yield {
        type: 'delta',
        delta: { text, tokens, ...(logprobs && { logprobs: logprobs.map(toLogprob) }) },
      };
    }
    signal.throwIfAborted();
    if (end.finish === null) throw cutShort();
    if (first === undefined) yield accepted;
    const now = performance.now();
    yield {
      type: 'done',
      finishReason: end.finish === 'length' ? 'length' : 'stop',
      usage: {
        promptTokens: end.usage?.prompt_tokens ?? 0,
        cachedTokens: end.usage?.prompt_tokens_details?.cached_tokens ?? 0,
        completionTokens: end.usage?.completion_tokens ?? end.tokens,
        ...reasoningTokens(end.usage),
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

/** llama.cpp, older vLLM and DeepSeek name it `reasoning_content`; newer vLLM, OpenRouter and Ollama `reasoning`. */
function reasoningOf(delta: object): string {
  const { reasoning_content, reasoning }: { reasoning_content?: unknown; reasoning?: unknown } = delta;
  const text = reasoning_content ?? reasoning;
  return typeof text === 'string' ? text : '';
}

function reasoningTokens(usage: Chunk['usage'] | null): { reasoningTokens?: number } {
  const tokens = usage?.completion_tokens_details?.reasoning_tokens;
  return tokens === undefined ? {} : { reasoningTokens: tokens };
}

function toLogprob({ token, logprob, bytes, top_logprobs: top }: Logprobs[number]): TokenLogprob {
  return {
    token,
    logprob,
    bytes: bytes ?? null,
    top: top.map((each) => ({ ...each, bytes: each.bytes ?? null })),
  };
}
