import type { ChatCompletionTokenLogprob } from 'openai/resources/chat/completions';

export interface ReplyToolCall {
  id: string;
  name: string;
  /** JSON text, as the model wrote it. */
  arguments: string;
}

export interface ReplyStats {
  /** Milliseconds from the request to the first text; null while none has come. */
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

/** One choice of an answer, as far as it has come. */
export interface Reply {
  /** What the model thought before it answered; turns of earlier versions have none. */
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

/** A reply after its beginning, if there was one. The figures are those of the latest request. */
export const continued = (beginning: Reply | undefined, reply: Reply): Reply =>
  beginning
    ? {
        ...reply,
        reasoning: (beginning.reasoning ?? '') + (reply.reasoning ?? ''),
        content: beginning.content + reply.content,
        logprobs: [...beginning.logprobs, ...reply.logprobs],
      }
    : reply;
