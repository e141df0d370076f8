import type { AnyJob, Timings } from './any-job.ts';
import type { Sampling } from './sampling.ts';

/**
 * Message of a conversation, normalized by the service: text parts are joined, and `developer` becomes
 * `system`. Engines get no other shape.
 */
export type ChatMessage =
  | { role: 'system'; content: string; name?: string }
  | { role: 'user'; content: string; name?: string; images?: ChatImage[] }
  | { role: 'assistant'; content: string; name?: string; toolCalls?: ToolCall[] }
  | { role: 'tool'; content: string; toolCallId: string };

/** Image in a message, not yet fetched or decoded: the engine or the server does that. */
export interface ChatImage {
  /** Position in the message's `content`, in characters. */
  at: number;
  /** A `data:` URL, or a URL whose origin is allowed for images. */
  url: string;
  /** OpenAI's detail level (`low`, `high`); passed to servers only. */
  detail?: string;
  /** Path in the request for errors, such as `messages[0].content[1]`. */
  param: string;
  /** The file at `url`, once the engine worker has fetched it. */
  file?: Blob;
}

export const imagesOf = (input: ChatJob['input']): ChatImage[] =>
  'messages' in input
    ? input.messages.flatMap((message) => ('images' in message && message.images) || [])
    : [];

/** The texts and images of a message in their order, without empty texts. */
export function textsAndImages(content: string, images: readonly ChatImage[] = []): (string | ChatImage)[] {
  const starts = [0, ...images.map(({ at }) => at)];
  const texts = starts.map((start, index) => content.slice(start, starts[index + 1]));
  return texts.flatMap((text, index) => [text, images[index] ?? '']).filter((part) => part !== '');
}

/** Lists the texts of a prompt. Each tool call is one text. */
export function textsOf(input: ChatJob['input']): string[] {
  if ('prompt' in input) return [input.prompt];
  return input.messages.flatMap((message) => {
    const calls = 'toolCalls' in message ? (message.toolCalls ?? []) : [];
    return [message.content, ...calls.map((call) => call.name + call.arguments)];
  });
}

export const charactersOf = (input: ChatJob['input']): number =>
  textsOf(input).reduce((sum, { length }) => sum + length, 0);

/** Approximate number of characters per token. */
export const CHARACTERS_A_TOKEN = 4;
export const estimateTokens = (characters: number): number => Math.ceil(characters / CHARACTERS_A_TOKEN);

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text, as generated. */
  arguments: string;
}

/** Format of the answer, enforced while decoding. `schema`: JSON text, as objects would lose digits of numbers. */
export type Constraint =
  | { kind: 'json_object' }
  | { kind: 'json_schema'; schema: string; parts?: SchemaPart[] }
  | { kind: 'grammar'; gbnf: string };

/** The grammar of a constraint. Its schema is compiled before engines read it. */
export function grammarOf(constraint: Constraint): string {
  if (constraint.kind === 'grammar') return constraint.gbnf;
  throw new Error('the schema was not compiled');
}

/** A request's schema inside a constraint's schema. */
export interface SchemaPart {
  /** Keys of the path to it. */
  at: string[];
  /** Path of the schema in the request, for error messages. */
  param: string;
  /** Whether a keyword that cannot be enforced is an error, as OpenAI's `strict` or alone. Otherwise it is ignored. */
  strict: boolean | 'keywords';
  /** Set if `param` is the value of a keyword, not a schema. */
  isKeyword?: true;
}

/** The request's reasoning settings. Models that cannot reason ignore them. */
export interface Reasoning {
  /** OpenAI's reasoning effort. */
  effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  /** The chat template's switch. With `effort` alone, every value but `none` turns it on. */
  enableThinking?: boolean;
}

/** Generates one choice. A request for `n` choices is `n` jobs. */
export interface ChatJob extends AnyJob {
  kind: 'chat';
  /** A conversation, or text to continue without a chat template. `isText`: it has no special tokens, as clients' texts have none. */
  input: { messages: ChatMessage[] } | { prompt: string; isText?: true };
  sampling: Sampling;
  /** Counts the prompt's tokens and ends with `accepted`. The prompt may be longer than the context. */
  countOnly?: true;
  /** Set if `sampling.seed` was generated, in case the reply must be repeated, and not requested. */
  seeded?: true;
  /** Drops the oldest turns of a conversation that does not fit the context. */
  truncate?: true;
  /** Maximum number of generated tokens. Default: until the model stops or the context is full. */
  maxTokens?: number;
  constraint?: Constraint;
  /** Number of alternatives per token (0: only the chosen token). Absent: no log probabilities. */
  topLogprobs?: number;
  /** Reasoning options. When absent, the chat template decides whether the model reasons. */
  reasoning?: Reasoning;
  /** Reasoning already generated for this reply. The model continues it, or answers if it has ended. */
  thoughts?: Thoughts;
  /**
   * Partial reply of an engine that is gone, to be continued. Deltas and usage then cover only the continuation, and
   * `maxTokens` is what remains; the resuming side adds them up.
   */
  resume?: Resume;
}

export interface Thoughts {
  text: string;
  ended: boolean;
}

export interface Resume {
  /** Text of the answer, without reasoning. */
  text: string;
  /** Tokens already counted for the reasoning and `text`. */
  tokens: number;
  /** Set if the job's constraint applies only to what follows: a call in a text. */
  precedesConstraint?: true;
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
  /** Reasoning tokens of the completion. Absent if the engine does not count them. */
  reasoningTokens?: number;
}

/** `stop`: the model ended its turn. `length`: `maxTokens` or the context's end. `content_filter`: only from servers. */
export type EngineFinishReason = 'stop' | 'length' | 'content_filter';

/** Events of a chat, in this order: `accepted` once, `delta` any number of times, `done` once. */
export type ChatEvent =
  | { type: 'accepted'; accepted: Accepted }
  | { type: 'delta'; delta: Delta }
  | { type: 'done'; finishReason: EngineFinishReason; usage: ChatUsage; timings: ChatTimings };

/** Reports that the prompt fits and the engine has begun. From here on, only the engine can fail. */
export interface Accepted {
  promptTokens: number;
  /** Prompt tokens in the KV cache, if known this early. Used for a reply that a stop sequence cuts. */
  cachedTokens?: number;
  /** Identifies weights, quantization, kernels and backend: `smollm2-135m-instruct-q4_1-wllama-k0123abcd-wasm-2t`. */
  fingerprint: string;
}

export interface Delta {
  /** Text of complete characters; engines withhold partial ones. */
  text: string;
  /** Number of tokens in this delta; 0 for withheld text whose tokens were already counted. */
  tokens: number;
  /** Set if the text is reasoning, without its tags. */
  isReasoning?: true;
  /** Log probabilities of the answer's tokens. Reasoning has none. */
  logprobs?: TokenLogprob[];
}

/** Timings of a chat: its engine tells the steps. */
export interface ChatTimings extends Timings {
  prefillMs: number;
  decodeMs: number;
}

/** Whether an interrupted reply must restart: a grammar's state cannot be resumed, and log probabilities would change. */
export const repeats = ({ constraint, topLogprobs }: ChatJob): boolean =>
  constraint !== undefined || topLogprobs !== undefined;
