import type OpenAI from 'openai';
import type { ChatUsage, TokenLogprob, ChatMessage, ToolCall } from '#jobs';
import type { FinishReason } from '../reply-parts.ts';
import type { AnswerHead } from '../generation/choices.ts';
import { isItemId, itemIds } from './item-references.ts';
import type { InputItem, ResponseBody } from './response-schema.ts';
import { isFunctionTool } from '../tools/callable-tools.ts';
import { orEmptyObject, toContent, toText } from '../body/message-content.ts';
import { invalidField } from '#base';

type Responses = OpenAI.Responses.Response;
/** The client computes `output_text`. */
export type ResponseObject = Omit<Responses, 'output' | 'output_text' | 'tool_choice' | 'usage'> & {
  output: OutputItem[];
  /** Allowed tools may have the mode `none`, which OpenAI's types lack. */
  tool_choice: NonNullable<ResponseBody['tool_choice']>;
  /** Whether `previous_response_id` may name it. */
  store: boolean;
  usage: OpenAI.Responses.ResponseUsage | null;
  /** Open Responses requires these; OpenAI's types lack them. */
  presence_penalty: number;
  frequency_penalty: number;
  max_tool_calls: number | null;
};
export type OutputItem =
  | OpenAI.Responses.ResponseReasoningItem
  | OpenAI.Responses.ResponseOutputMessage
  | OpenAI.Responses.ResponseFunctionToolCall;

export interface ResponseState {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  /** Why it is `incomplete`. */
  incomplete: Responses['incomplete_details'];
  output: OutputItem[];
  usage: ChatUsage | null;
  error: Responses['error'];
}

/** Why a reply is incomplete; null: it is complete. */
export function toIncomplete(reason: FinishReason | undefined): ResponseState['incomplete'] {
  if (reason === 'length') return { reason: 'max_output_tokens' };
  return reason === 'content_filter' ? { reason } : null;
}

export function toResponse(head: AnswerHead, request: ResponseBody, stored: boolean, state: ResponseState) {
  const { status, incomplete, output, usage, error } = state;
  return {
    id: head.id,
    object: 'response',
    created_at: head.created,
    completed_at: status === 'completed' ? Math.floor(Date.now() / 1000) : null,
    status,
    background: false,
    error,
    incomplete_details: status === 'incomplete' ? incomplete : null,
    ...orDefaults(request, {
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: {},
    }),
    model: head.model,
    output,
    ...orDefaults(request, {
      parallel_tool_calls: true,
      presence_penalty: 0,
      frequency_penalty: 0,
      previous_response_id: null,
      prompt_cache_key: null,
      safety_identifier: null,
    }),
    ...(request.user == null ? {} : { user: request.user }),
    reasoning: orDefaults(request.reasoning, { effort: null, summary: null }),
    service_tier: 'default',
    temperature: request.temperature ?? 1,
    text: { format: toFormat(request) },
    tool_choice: request.tool_choice ?? 'auto',
    tools: (request.tools ?? [])
      .filter((tool) => isFunctionTool(tool))
      .map((tool) => ({
        type: 'function' as const,
        name: tool.name,
        ...orDefaults(tool, { description: null, parameters: null, strict: false }),
      })),
    ...orDefaults(request, { top_logprobs: 0, top_p: 1, truncation: 'disabled' }),
    usage: usage && toResponseUsage(usage),
    store: stored,
  } satisfies ResponseObject;
}

/** The fields that `defaults` names; an absent or null one has its default. */
const orDefaults = <const Defaults extends object, Fields extends { [Name in keyof Defaults]?: unknown }>(
  fields: Fields | null | undefined,
  defaults: Defaults,
) =>
  Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, fields?.[name as keyof Fields] ?? value]),
  ) as { -readonly [Name in keyof Defaults]: NonNullable<Fields[Name]> | Defaults[Name] };

function toFormat({ text }: ResponseBody): OpenAI.Responses.ResponseFormatTextConfig {
  const format = text?.format;
  if (format?.type !== 'json_schema') return { type: format?.type ?? 'text' };
  const { name, description, schema, strict } = format;
  return {
    type: 'json_schema',
    name,
    schema: schema ?? {},
    strict: strict ?? false,
    ...(description == null ? {} : { description }),
  };
}

function toResponseUsage({ promptTokens, cachedTokens, completionTokens, reasoningTokens = 0 }: ChatUsage) {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  };
}

export type ResponseLogprobs = OpenAI.Responses.ResponseOutputText.Logprob[];

export const toResponseLogprobs = (logprobs: readonly TokenLogprob[]): ResponseLogprobs =>
  logprobs.map(({ token, logprob, bytes, top }) => ({
    token,
    logprob,
    bytes: bytes ?? [],
    top_logprobs: top.map((one) => ({ ...one, bytes: one.bytes ?? [] })),
  }));

/**
 * Appends a request's items to the earlier messages. Calls become part of the assistant's message before
 * them.
 * @throws ServiceError 400
 */
export function appendItems(before: readonly ChatMessage[], input: string | InputItem[]): ChatMessage[] {
  const messages = structuredClone(before) as ChatMessage[];
  if (typeof input === 'string') return [...messages, { role: 'user', content: input.toWellFormed() }];
  const calls = new Set(before.flatMap((message) => callsOf(message).map(({ id }) => id)));
  for (const [index, item] of input.entries()) {
    const at = `input[${index}]`;
    switch (item.type) {
      case 'message':
      case undefined: {
        const role = item.role === 'developer' ? 'system' : item.role;
        if (role === 'user')
          messages.push({ role, ...toContent(item.content, `${at}.content`, 'input_text') });
        else messages.push({ role, content: toText(item.content, `${at}.content`, 'input_text') });
        break;
      }
      case 'function_call':
        calls.add(item.call_id);
        addCall(messages, { id: item.call_id, name: item.name, arguments: orEmptyObject(item.arguments) });
        break;
      case 'function_call_output':
        if (!calls.has(item.call_id)) {
          const rule = 'must be the `call_id` of a function_call before this one';
          throw invalidField(`${at}.call_id`, rule);
        }
        messages.push({
          role: 'tool',
          content: toText(item.output, `${at}.output`, 'input_text'),
          toolCallId: item.call_id,
        });
    }
  }
  return messages;
}

const callsOf = (message: ChatMessage): ToolCall[] => ('toolCalls' in message && message.toolCalls) || [];

function addCall(messages: ChatMessage[], call: ToolCall): void {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') messages.push({ role: 'assistant', content: '', toolCalls: [call] });
  else if (last.toolCalls) last.toolCalls.push(call);
  else last.toolCalls = [call];
}

const PREFIXES: Record<string, 'msg' | 'fc' | 'rs'> = { message: 'msg', reasoning: 'rs' };

/** Converts a request's items to the form in which clients list them: each with an id for references. */
export function toInputItems(items: readonly unknown[], responseId: string): Record<string, unknown>[] {
  const nextId = itemIds(responseId, 'i');
  const known = new Set<unknown>();
  return (items as Record<string, unknown>[]).map((item) => {
    const { content, role } = item;
    const type = String(item['type'] ?? 'message');
    const isOurs = isItemId(item['id']) && !known.has(item['id']);
    const id = isOurs ? item['id'] : nextId(PREFIXES[type] ?? 'fc');
    known.add(id);
    if (type === 'reasoning') return { ...item, id };
    const parts = type === 'message' ? { content: toListedParts(content, role === 'assistant') } : {};
    return { status: 'completed', ...item, type, id, ...parts };
  });
}

function toListedParts(content: unknown, isOutput: boolean): unknown {
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content;
  if (!isOutput || !Array.isArray(parts)) return parts;
  return (parts as { type?: unknown }[]).map((part) =>
    part.type === 'refusal' ? part : { annotations: [], logprobs: [], ...part, type: 'output_text' },
  );
}
