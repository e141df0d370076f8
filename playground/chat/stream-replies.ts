import type {
  ChatCompletionChunk,
  ChatCompletionCreateParamsStreaming,
} from 'openai/resources/chat/completions';
import { openai } from '../client/openai.ts';
import { oncePerFrame } from '../once-per-frame.ts';
import { emptyReply, type Reply } from './reply.ts';

/**
 * Asks /v1 and hands out the choices as they grow, at most once a frame. What has come stays with the caller when
 * the stream breaks: the promise then rejects after a last call of `onReplies`.
 * @returns the request's id in the log
 */
export async function streamReplies(
  body: ChatCompletionCreateParamsStreaming,
  signal: AbortSignal,
  onReplies: (replies: Reply[]) => void,
): Promise<string | null> {
  const client = await openai();
  const startedAt = performance.now();
  let replies = Array.from({ length: body.n ?? 1 }, emptyReply);
  const show = oncePerFrame(() => onReplies(replies));
  try {
    const { data, request_id } = await client.chat.completions.create(body, { signal }).withResponse();
    for await (const chunk of data) {
      replies = replies.map((reply, index) => grow(reply, index, chunk, performance.now() - startedAt));
      show.request();
    }
    signal.throwIfAborted();
    return request_id;
  } finally {
    show.cancel();
    replies = replies.map((reply) => ({
      ...reply,
      stats: { ...reply.stats, totalMs: performance.now() - startedAt },
    }));
    onReplies(replies);
  }
}

/** The client's types lack reasoning. */
type ThinkingDelta = ChatCompletionChunk.Choice.Delta & { reasoning_content?: string };

function grow(reply: Reply, index: number, chunk: ChatCompletionChunk, elapsedMs: number): Reply {
  const choice = chunk.choices.find((candidate) => candidate.index === index);
  const added = read(choice?.delta);
  const hasBegun = added.content !== '' || added.reasoning !== '' || added.toolCalls.length > 0;
  const firstTokenMs = reply.stats.firstTokenMs ?? (hasBegun ? elapsedMs : null);
  return {
    reasoning: (reply.reasoning ?? '') + added.reasoning,
    content: reply.content + added.content,
    toolCalls: withToolCalls(reply.toolCalls, added.toolCalls),
    logprobs: choice?.logprobs?.content ? [...reply.logprobs, ...choice.logprobs.content] : reply.logprobs,
    finishReason: choice?.finish_reason ?? reply.finishReason,
    stats: {
      ...reply.stats,
      firstTokenMs,
      totalMs: elapsedMs,
      fingerprint: chunk.system_fingerprint ?? reply.stats.fingerprint,
      ...usage(chunk, firstTokenMs, elapsedMs),
    },
  };
}

/** What a chunk adds to a choice. */
const read = (delta: ThinkingDelta | undefined) => ({
  reasoning: delta?.reasoning_content ?? '',
  content: delta?.content ?? '',
  toolCalls: delta?.tool_calls ?? [],
});

function usage(
  chunk: ChatCompletionChunk,
  firstTokenMs: number | null,
  elapsedMs: number,
): Partial<Reply['stats']> {
  if (!chunk.usage) return {};
  const { prompt_tokens, completion_tokens, prompt_tokens_details } = chunk.usage;
  const decodeMs = elapsedMs - (firstTokenMs ?? elapsedMs);
  return {
    promptTokens: prompt_tokens,
    completionTokens: completion_tokens,
    cachedTokens: prompt_tokens_details?.cached_tokens ?? null,
    // The first token came before the clock of this rate started.
    tokensPerSecond:
      decodeMs > 0 && completion_tokens > 1 ? ((completion_tokens - 1) * 1000) / decodeMs : null,
  };
}

type ToolCallDelta = NonNullable<ChatCompletionChunk.Choice.Delta['tool_calls']>[number];

function withToolCalls(calls: Reply['toolCalls'], deltas: ToolCallDelta[]): Reply['toolCalls'] {
  if (deltas.length === 0) return calls;
  const next = [...calls];
  for (const delta of deltas) {
    const before = next[delta.index] ?? { id: '', name: '', arguments: '' };
    next[delta.index] = {
      id: delta.id ?? before.id,
      name: before.name + (delta.function?.name ?? ''),
      arguments: before.arguments + (delta.function?.arguments ?? ''),
    };
  }
  return next;
}
