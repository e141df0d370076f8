import type { AnyJob } from './any-job.ts';
import type { Sampling } from './sampling.ts';

/**
 * One message of the conversation, after the service has checked it: text parts joined, `developer` turned into
 * `system`. Engines need know no other shape.
 */
export type ChatMessage =
  | { role: 'system'; content: string; name?: string }
  | { role: 'user'; content: string; name?: string; images?: ChatImage[] }
  | { role: 'assistant'; content: string; name?: string; toolCalls?: ToolCall[] }
  | { role: 'tool'; content: string; toolCallId: string };

/** A picture in a message, as the request has it: the engine or the server fetches and decodes it. */
export interface ChatImage {
  /** Position in the message's `content`, in characters. */
  at: number;
  /** A `data:` URL, or a URL whose origin is allowed for images. */
  url: string;
  /** OpenAI's detail level (`low`, `high`); passed to servers only. */
  detail?: string;
  /** Path in the request for errors, such as `messages[0].content[1]`. */
  param: string;
  /** The file at `url`, once the engine's worker has fetched it. */
  file?: Blob;
}

export const imagesOf = (input: ChatJob['input']): ChatImage[] =>
  'messages' in input
    ? input.messages.flatMap((message) => ('images' in message && message.images) || [])
    : [];

/** The texts that a prompt is made of. A tool call is one. */
export function textsOf(input: Exclude<ChatJob['input'], { tokens: number[] }>): string[] {
  if ('prompt' in input) return [input.prompt];
  return input.messages.flatMap((message) => {
    const calls = 'toolCalls' in message ? (message.toolCalls ?? []) : [];
    return [message.content, ...calls.map((call) => call.name + call.arguments)];
  });
}

export const charactersOf = (input: Exclude<ChatJob['input'], { tokens: number[] }>): number =>
  textsOf(input).reduce((sum, { length }) => sum + length, 0);

/** Characters of a token, about. */
export const CHARACTERS_A_TOKEN = 4;
export const estimateTokens = (characters: number): number => Math.ceil(characters / CHARACTERS_A_TOKEN);

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text, as the model wrote it. */
  arguments: string;
}

/** Form of the text, enforced while decoding. */
export type Constraint =
  | { kind: 'json_object' }
  | { kind: 'json_schema'; schema: Record<string, unknown>; parts?: SchemaPart[] }
  | { kind: 'grammar'; gbnf: string; spells?: Spelling };

/**
 * Text that is all a grammar allows, from one of its tokens on. An engine that can keeps to the tokens it has in a
 * prompt.
 */
export interface Spelling {
  text: string;
  from: number;
}

/** A schema of the request within a constraint's. */
export interface SchemaPart {
  /** The keys that lead to it. */
  at: string[];
  /** Path of the part in the request, for errors. */
  param: string;
  /** Whether what cannot be enforced is an error. Otherwise it is left out. */
  strict: boolean;
}

/** The request's reasoning settings. Models that cannot think ignore them. */
export interface Reasoning {
  /** OpenAI's values. */
  effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  /** The chat template's switch. With `effort` alone, every value but `none` turns it on. */
  enableThinking?: boolean;
}

/** One choice to generate: `n` choices are `n` jobs. */
export interface ChatJob extends AnyJob {
  kind: 'chat';
  /** The conversation; or text or token ids to continue, without a chat template. */
  input: { messages: ChatMessage[] } | { prompt: string } | { tokens: number[] };
  sampling: Sampling;
  /** Ends with `accepted`: its tokens are counted, nothing is computed, and the prompt may be longer than the context. */
  countOnly?: true;
  /** The request names no seed: `sampling` has one in case the reply must be made again. */
  seeded?: true;
  /** Drops what does not fit the context from the start of the conversation. */
  truncate?: true;
  /** Maximum of generated tokens. Absent: until the model stops or the context is full. */
  maxTokens?: number;
  constraint?: Constraint;
  /** Alternatives per token (0: the chosen token only). Absent: no log probabilities. */
  topLogprobs?: number;
  /** Reasoning options. When absent, the chat template decides whether the model reasons. */
  reasoning?: Reasoning;
  /** Generated for this reply before: the model continues its thoughts, or answers where they have ended. */
  thoughts?: Thoughts;
  /**
   * Partial reply left by an engine that is gone, to be continued. Deltas and usage are then of the continuation alone, and
   * `maxTokens` is what is left: the resuming side adds them up.
   */
  resume?: Resume;
}

export interface Thoughts {
  text: string;
  ended: boolean;
}

export interface Resume {
  /** Text of the answer, without thoughts. */
  text: string;
  /** Tokens already counted for the reasoning and `text`. */
  tokens: number;
}

export interface TokenLogprob {
  token: string;
  logprob: number;
  bytes: number[] | null;
  top: { token: string; logprob: number; bytes: number[] | null }[];
}

export interface ChatUsage {
  /** Tokens of the whole prompt, cached or not. */
  promptTokens: number;
  /** Prompt tokens found in the KV cache. */
  cachedTokens: number;
  completionTokens: number;
  /** Reasoning tokens of the completion. Absent: the engine does not count them. */
  reasoningTokens?: number;
}

/** `stop`: the model ended its turn; `length`: `maxTokens` or the context's end; `content_filter`: of a server. */
export type EngineFinishReason = 'stop' | 'length' | 'content_filter';

/** What an engine yields for a job, in this order: `accepted` once, `delta` any number of times, `done` once. */
export type ChatEvent =
  | { type: 'accepted'; accepted: Accepted }
  | { type: 'delta'; delta: Delta }
  | { type: 'done'; finishReason: EngineFinishReason; usage: ChatUsage; timings: Timings };

/** The prompt fits and the engine has begun: from here on only the engine itself can fail. */
export interface Accepted {
  promptTokens: number;
  /** The part of it that comes from the KV cache, where an engine knows so early: for a reply cut by a stop sequence. */
  cachedTokens?: number;
  /** Names weights, quantization, kernels and backend: `smollm2-135m-instruct-q4_1-wllama-k0123abcd-wasm-2t`. */
  fingerprint: string;
}

export interface Delta {
  /** Whole characters only: an engine holds back bytes that end inside one. */
  text: string;
  /** Tokens in this delta (0 when a token gave no whole character yet). */
  tokens: number;
  /** The text is the model's thoughts, without their tags. */
  isReasoning?: true;
  /** Log probabilities of the answer, without thoughts. */
  logprobs?: TokenLogprob[];
}

/** Milliseconds. */
export interface Timings {
  queueMs: number;
  prefillMs: number;
  decodeMs: number;
}

/** Whether a reply that was interrupted is generated again from its start: the state of a grammar cannot be handed over. */
export const repeats = ({ constraint, topLogprobs }: ChatJob): boolean =>
  constraint !== undefined || topLogprobs !== undefined;
