import { APIError } from 'openai';
import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { Completion } from 'openai/resources/completions';
import type { ChatEvent, ChatJob, TokenLogprob } from '../../../protocol/job.ts';
import type { ChatEngine } from '../../engine.ts';
import { cutShort } from './upstream-failures.ts';
import { toUpstreamRequest } from './upstream-request.ts';
import { UpstreamEngine } from './upstream-engine.ts';

/** Requests passed on at once; more wait here, where the line is bounded and told of. */
const SLOTS = 16;

type Chunk = ChatCompletionChunk | Completion;
type Logprobs = NonNullable<NonNullable<ChatCompletionChunk['choices'][number]['logprobs']>['content']>;

export class UpstreamChatEngine extends UpstreamEngine implements ChatEngine {
  readonly slots = SLOTS;

  /** `accepted` comes with the first token: until then the next variant can answer unseen. */
  async *generate(
    job: ChatJob,
    signal: AbortSignal,
    onPrefill?: () => void,
  ): AsyncGenerator<ChatEvent, void, undefined> {
    signal.throwIfAborted();
    const request = toUpstreamRequest(job, this.model);
    const left = new AbortController();
    const options = { signal: AbortSignal.any([signal, left.signal]) };
    const began = performance.now();
    let first: number | undefined;
    let hasBegun = false;
    try {
      const chunks: AsyncIterable<Chunk> =
        'chat' in request
          ? await this.client.chat.completions.create(request.chat, options)
          : await this.client.completions.create(request.completion, options);
      hasBegun = true;
      onPrefill?.();
      // A server says how long the prompt is only at the end.
      const accepted: ChatEvent = {
        type: 'accepted',
        accepted: { promptTokens: 0, fingerprint: this.fingerprint },
      };
      const end = { finish: null as string | null, usage: null as Chunk['usage'] | null, tokens: 0 };
      for await (const chunk of chunks) {
        end.usage = chunk.usage ?? end.usage;
        const choice = chunk.choices[0];
        if (!choice) continue;
        end.finish = choice.finish_reason ?? end.finish;
        const text = ('delta' in choice ? choice.delta.content : choice.text) ?? '';
        const reasoning = 'delta' in choice ? reasoningOf(choice.delta) : '';
        const logprobs = 'delta' in choice ? choice.logprobs?.content : null;
        if (text === '' && reasoning === '' && !logprobs?.length) continue;
        if (first === undefined) yield accepted;
        first ??= performance.now();
        if (reasoning !== '') {
          end.tokens += 1;
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
      throw this.failure(hasBegun && !(error instanceof APIError) ? cutShort(error) : error);
    } finally {
      // Leaving the loop early ends the server's work as well.
      left.abort();
    }
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
