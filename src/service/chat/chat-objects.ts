import type OpenAI from 'openai';
import type { ChatUsage, TokenLogprob } from '#jobs';
import type { AnswerHead, ChoiceCall, ChoiceResult } from '../generation/choices.ts';
import { type AnswerFormat, errorEvent } from '../http/answer.ts';
import { EVENT_STREAM } from '../http/response.ts';
import type { ToolName } from '../tools/tool-function.ts';
import type { ChoiceEvent, FinishReason } from '../reply-parts.ts';

/** OpenAI's shapes, checked against the types of OpenAI's client library. */

export function toUsage({ promptTokens, cachedTokens, completionTokens, reasoningTokens = 0 }: ChatUsage) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  } satisfies OpenAI.CompletionUsage;
}

function toLogprobs(logprobs: readonly TokenLogprob[]) {
  return {
    content: logprobs.map(({ token, logprob, bytes, top }) => ({ token, logprob, bytes, top_logprobs: top })),
    refusal: null,
  } satisfies OpenAI.ChatCompletion.Choice.Logprobs;
}

/** `isLegacy`: the request has `functions`, and the answer `function_call`. */
export function toChatCompletion(
  head: AnswerHead,
  choices: readonly ChoiceResult[],
  usage: ChatUsage,
  isLegacy: boolean,
) {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    system_fingerprint: head.fingerprint,
    choices: choices.map(({ reasoning, text, calls, logprobs, reason }, index) => ({
      index,
      message: {
        role: 'assistant' as const,
        content: text === '' && calls.length > 0 ? null : text,
        refusal: null,
        ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
        ...toCalls(calls, isLegacy),
      },
      logprobs: logprobs && toLogprobs(logprobs),
      finish_reason: toFinishReason(reason, isLegacy),
    })),
    usage: toUsage(usage),
  } satisfies OpenAI.ChatCompletion;
}

function toCalls(calls: readonly ChoiceCall[], isLegacy: boolean) {
  const [first] = calls;
  if (!first) return {};
  return isLegacy ? { function_call: toCalled(first) } : { tool_calls: calls.map(toToolCall) };
}

const toFinishReason = (reason: FinishReason, isLegacy: boolean): ChunkChoice['finish_reason'] & string =>
  isLegacy && reason === 'tool_calls' ? 'function_call' : reason;

const toCalled = ({ tool, arguments: json }: Omit<ChoiceCall, 'id'>) => ({
  name: tool.name,
  arguments: json,
});

function toToolCall({ id, ...call }: ChoiceCall): OpenAI.ChatCompletionMessageToolCall {
  const { kind, name, namespace } = call.tool;
  const inNamespace = namespace === undefined ? {} : { namespace };
  return kind === 'custom'
    ? { id, type: kind, ...inNamespace, custom: { name, input: call.arguments } }
    : { id, type: kind, ...inNamespace, function: toCalled(call) };
}

type Chunk = OpenAI.ChatCompletionChunk;
type ChunkChoice = Chunk['choices'][number];

/** Delta with the reasoning, as llama.cpp's server and vLLM send it; OpenAI's types lack the field. */
type Delta = Omit<ChunkChoice['delta'], 'tool_calls'> & {
  reasoning_content?: string;
  /** OpenAI's types of chunks lack custom tools. */
  tool_calls?: ({ index: number } & DeepPartial<OpenAI.ChatCompletionMessageToolCall>)[];
};
type DeepPartial<Value> = Value extends object ? { [Key in keyof Value]?: DeepPartial<Value[Key]> } : Value;

interface ChunkOptions {
  includeUsage: boolean;
  hasLogprobs: boolean;
  /** The request has `functions`, and the chunks `function_call`. */
  isLegacy: boolean;
}

/** Encodes one streamed answer as server-sent events. */
export class ChunkEncoder implements AnswerFormat<ChoiceEvent> {
  readonly type = EVENT_STREAM;
  readonly failure = errorEvent;
  readonly #getHead: () => AnswerHead;
  readonly #getUsage: () => ChatUsage;
  #head: AnswerHead | null = null;
  readonly #options: ChunkOptions;
  /** Kinds of the tools that are called, by choice and call. */
  readonly #kinds = new Map<string, ToolName['kind']>();

  /** @param head is called at the first event */
  constructor(head: () => AnswerHead, usage: () => ChatUsage, options: ChunkOptions) {
    this.#getHead = head;
    this.#getUsage = usage;
    this.#options = options;
  }

  event(event: ChoiceEvent): string {
    const { index } = event;
    switch (event.type) {
      case 'accepted': {
        const opening = choice(index, { role: 'assistant', content: '', refusal: null }, null);
        return this.#event([this.#options.hasLogprobs ? { ...opening, logprobs: toLogprobs([]) } : opening]);
      }
      case 'text':
        return this.#event([
          {
            ...choice(index, { content: event.text }, null),
            ...(event.logprobs.length > 0 && { logprobs: toLogprobs(event.logprobs) }),
          },
        ]);
      case 'reasoning':
        return this.#event([choice(index, { reasoning_content: event.text }, null)]);
      case 'call': {
        // Clients gather a call's pieces by its index: the id and the name are sent once.
        const { call, id, tool } = event;
        this.#kinds.set(`${index} ${call}`, tool.kind);
        const started = toToolCall({ id, tool, arguments: '' });
        if (this.#options.isLegacy)
          return this.#event([choice(index, { function_call: toCalled({ tool, arguments: '' }) }, null)]);
        return this.#event([choice(index, { tool_calls: [{ index: call, ...started }] }, null)]);
      }
      case 'arguments': {
        const { call, text } = event;
        if (this.#options.isLegacy)
          return this.#event([choice(index, { function_call: { arguments: text } }, null)]);
        const isCustom = this.#kinds.get(`${index} ${call}`) === 'custom';
        const piece = isCustom ? { custom: { input: text } } : { function: { arguments: text } };
        return this.#event([choice(index, { tool_calls: [{ index: call, ...piece }] }, null)]);
      }
      case 'finished':
        return this.#event([choice(index, {}, toFinishReason(event.reason, this.#options.isLegacy))]);
    }
  }

  end(): string {
    const usage = this.#options.includeUsage ? this.#event([], toUsage(this.#getUsage())) : '';
    return `${usage}data: [DONE]\n\n`;
  }

  #event(choices: ChunkChoice[], usage: OpenAI.CompletionUsage | null = null): string {
    const { id, created, model, fingerprint } = (this.#head ??= this.#getHead());
    const chunk = {
      id,
      object: 'chat.completion.chunk',
      created,
      model,
      system_fingerprint: fingerprint,
      choices,
      ...(this.#options.includeUsage ? { usage } : {}),
    } satisfies Chunk;
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }
}

const choice = (index: number, delta: Delta, reason: ChunkChoice['finish_reason']): ChunkChoice => ({
  index,
  delta: delta as ChunkChoice['delta'],
  logprobs: null,
  finish_reason: reason,
});
