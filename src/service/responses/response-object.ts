import type OpenAI from 'openai';
import type { ChatUsage, TokenLogprob, ChatMessage, ToolCall } from '#jobs';
import type { FinishReason } from '../reply-parts.ts';
import type { AnswerHead } from '../generation/choices.ts';
import { isItemId, type ItemPrefix, itemIds } from './item-references.ts';
import type { InputItem, ResponseBody } from './response-schema.ts';
import { calledName } from '../tools/tool-function.ts';
import { isKnown } from '../tools/requested-choice.ts';
import { toCall, toCustomCall } from '../tools/earlier-calls.ts';
import { toContent, toText } from '../body/message-content.ts';
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
  | FunctionToolCall
  | CustomToolCall;
/** The tests' older client lacks namespaces. */
type InNamespace = { namespace?: string };
type FunctionToolCall = OpenAI.Responses.ResponseFunctionToolCall & InNamespace;
/** A call that was cut off has the status `incomplete`, which OpenAI's types lack. */
export type CustomToolCall = OpenAI.Responses.ResponseCustomToolCall &
  InNamespace &
  Pick<FunctionToolCall, 'status'>;

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
    // No model here can be told how much to write.
    text: { format: toFormat(request), verbosity: request.text?.verbosity ?? 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: toTools(request),
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

/** The client's known tools with the defaults that were used. */
const toTools = ({ tools }: ResponseBody): OpenAI.Responses.Tool[] =>
  (tools ?? [])
    .filter((tool) => isKnown(tool))
    .map((tool) => {
      if (tool.type !== 'function') return tool as OpenAI.Responses.Tool;
      return { ...tool, ...orDefaults(tool, { description: null, parameters: null, strict: false }) };
    });

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

/** Usage as responses and decisions report it. */
export function toResponseUsage({
  promptTokens,
  cachedTokens,
  completionTokens,
  reasoningTokens = 0,
}: ChatUsage) {
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
  const calls = earlierCalls(before);
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
        addCall(messages, calls, toCall(item.call_id, item));
        break;
      case 'custom_tool_call':
        addCall(messages, calls, toCustomCall(item.call_id, item));
        break;
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const toolCallId = answeredCall(calls, item, at);
        messages.push({
          role: 'tool',
          content: toText(item.output, `${at}.output`, 'input_text'),
          toolCallId,
        });
      }
    }
  }
  return messages;
}

/**
 * Id of the call that an item answers. An item without `call_id` answers the earliest call without a result,
 * of the item's function if it has a name.
 */
function answeredCall(
  calls: Map<string, EarlierCall>,
  item: Extract<InputItem, { type: 'function_call_output' | 'custom_tool_call_output' }>,
  at: string,
): string {
  const { call_id: given, name, namespace } = item;
  const called = name == null ? null : calledName({ name, ...(namespace != null && { namespace }) });
  const id = given ?? firstOpen(calls, called);
  if (id === undefined) {
    const rule = 'is required: no call before this one lacks a result';
    throw invalidField(`${at}.call_id`, rule, 'missing_required_parameter');
  }
  const call = calls.get(id);
  if (!call) throw invalidField(`${at}.call_id`, 'must be the `call_id` of a call before this one');
  call.isAnswered = true;
  return id;
}

/** Id of the first call without a result; `name`: null for any function. */
function firstOpen(calls: Map<string, EarlierCall>, name: string | null): string | undefined {
  for (const [id, call] of calls) if (!call.isAnswered && (name === null || call.name === name)) return id;
  return undefined;
}

interface EarlierCall {
  name: string;
  isAnswered: boolean;
}

/** Calls of earlier messages, by their ids. */
function earlierCalls(messages: readonly ChatMessage[]): Map<string, EarlierCall> {
  const calls = new Map<string, EarlierCall>();
  for (const message of messages) {
    for (const { id, name } of callsOf(message)) calls.set(id, { name, isAnswered: false });
    const answered = message.role === 'tool' && calls.get(message.toolCallId);
    if (answered) answered.isAnswered = true;
  }
  return calls;
}

const callsOf = (message: ChatMessage): ToolCall[] => ('toolCalls' in message && message.toolCalls) || [];

function addCall(messages: ChatMessage[], calls: Map<string, EarlierCall>, call: ToolCall): void {
  calls.set(call.id, { name: call.name, isAnswered: false });
  const last = messages.at(-1);
  if (last?.role !== 'assistant') messages.push({ role: 'assistant', content: '', toolCalls: [call] });
  else if (last.toolCalls) last.toolCalls.push(call);
  else last.toolCalls = [call];
}

const PREFIXES: Record<string, ItemPrefix> = { message: 'msg', reasoning: 'rs', custom_tool_call: 'ctc' };

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
