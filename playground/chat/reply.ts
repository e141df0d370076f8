import type { ChatCompletionTokenLogprob } from 'openai/resources/chat/completions';

export interface ReplyToolCall {
  id: string;
  name: string;
  /** JSON text, as the model wrote it. */
  arguments: string;
}

export interface ReplyStats {
  /** Milliseconds from the request to the first text; null before it. */
  firstTokenMs: number | null;
  totalMs: number;
  promptTokens: number | null;
  cachedTokens: number | null;
  /** Tokens of all choices together. */
  completionTokens: number | null;
  /** Speed after the first token. */
  tokensPerSecond: number | null;
  fingerprint: string | null;
}

/** One choice of an answer, as received so far. */
export interface Reply {
  /** The model's reasoning; absent in turns of earlier versions. */
  reasoning?: string | undefined;
  content: string;
  toolCalls: ReplyToolCall[];
  logprobs: ChatCompletionTokenLogprob[];
  finishReason: string | null;
  stats: ReplyStats;
}

export const emptyReply = (): Reply => ({
  content: '',
  toolCalls: [],
  logprobs: [],
  finishReason: null,
  stats: {
    firstTokenMs: null,
    totalMs: 0,
    promptTokens: null,
    cachedTokens: null,
    completionTokens: null,
    tokensPerSecond: null,
    fingerprint: null,
  },
});

/** Joins a reply to its beginning, if there is one. The figures are those of the latest request. */
export const continued = (beginning: Reply | undefined, reply: Reply): Reply =>
  beginning
    ? {
        ...reply,
        reasoning: (beginning.reasoning ?? '') + (reply.reasoning ?? ''),
        content: beginning.content + reply.content,
        logprobs: [...beginning.logprobs, ...reply.logprobs],
      }
    : reply;
