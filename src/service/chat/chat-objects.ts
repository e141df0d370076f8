import type OpenAI from 'openai';
import type { TokenLogprob } from '#jobs';
import type { ChoiceCall, ChoiceWriter } from '../generation/choices.ts';
import type { Generation } from '../generation/generation.ts';
import type { ToolName } from '../tools/tool-function.ts';
import type { ChoiceEvent, FinishReason } from '../reply-parts.ts';

function toLogprobs(logprobs: readonly TokenLogprob[]) {
  return {
    content: logprobs.map(({ token, logprob, bytes, top }) => ({ token, logprob, bytes, top_logprobs: top })),
    refusal: null,
  } satisfies OpenAI.ChatCompletion.Choice.Logprobs;
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

type ChunkChoice = OpenAI.ChatCompletionChunk.Choice;

/** Delta with the reasoning, as llama.cpp's server and vLLM send it; OpenAI's types lack the field. */
type Delta = Omit<ChunkChoice['delta'], 'tool_calls'> & {
  reasoning_content?: string;
  /** OpenAI's types of chunks lack custom tools. */
  tool_calls?: ({ index: number } & DeepPartial<OpenAI.ChatCompletionMessageToolCall>)[];
};
type DeepPartial<Value> = Value extends object ? { [Key in keyof Value]?: DeepPartial<Value[Key]> } : Value;

/**
 * Writes the choices of chats.
 * @param isLegacy the request has `functions`, and the answer `function_call`
 */
export function chatWriter(
  { topLogprobs, tools }: Generation,
  isLegacy: boolean,
): ChoiceWriter<OpenAI.ChatCompletion, OpenAI.ChatCompletionChunk> {
  /** Kinds of the tools that are called, by choice and call. */
  const kinds = new Map<string, ToolName['kind']>();

  function toCallDelta(event: Extract<ChoiceEvent, { type: 'call' | 'arguments' }>): Delta {
    const { index, call } = event;
    if (event.type === 'call') {
      // Clients gather a call's pieces by its index: the id and the name are sent once.
      const { id, tool } = event;
      kinds.set(`${index} ${call}`, tool.kind);
      const started = { tool, arguments: '' };
      if (isLegacy) return { function_call: toCalled(started) };
      return { tool_calls: [{ index: call, ...toToolCall({ id, ...started }) }] };
    }
    const { text } = event;
    if (isLegacy) return { function_call: { arguments: text } };
    const isCustom = kinds.get(`${index} ${call}`) === 'custom';
    const piece = isCustom ? { custom: { input: text } } : { function: { arguments: text } };
    return { tool_calls: [{ index: call, ...piece }] };
  }

  return {
    idPrefix: 'chatcmpl-',
    objects: ['chat.completion', 'chat.completion.chunk'],
    whole: ({ reasoning, text, calls, logprobs, reason }, index) => ({
      index,
      message: {
        role: 'assistant',
        content: text === '' && calls.length > 0 ? null : text,
        refusal: null,
        ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
        ...toCalls(calls, isLegacy),
      },
      logprobs: logprobs && toLogprobs(logprobs),
      finish_reason: toFinishReason(reason, isLegacy),
    }),
    part(event) {
      const { index } = event;
      switch (event.type) {
        case 'accepted': {
          // Clients open a text at empty content, even if only a call follows.
          const delta = { role: 'assistant', content: tools ? null : '', refusal: null } as const;
          return choice(index, delta, topLogprobs === null ? null : []);
        }
        case 'text': {
          const { text: content, logprobs } = event;
          return choice(index, { content }, logprobs.length > 0 ? logprobs : null);
        }
        case 'reasoning':
          return choice(index, { reasoning_content: event.text });
        case 'finished':
          return { ...choice(index, {}), finish_reason: toFinishReason(event.reason, isLegacy) };
        default:
          return choice(index, toCallDelta(event));
      }
    },
  };
}

const choice = (
  index: number,
  delta: Delta,
  logprobs: readonly TokenLogprob[] | null = null,
): ChunkChoice => ({
  index,
  delta: delta as ChunkChoice['delta'],
  logprobs: logprobs && toLogprobs(logprobs),
  finish_reason: null,
});
