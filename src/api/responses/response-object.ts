import type OpenAI from 'openai';
import type { ChatUsage, TokenLogprob, ChatMessage, ToolCall } from '../../jobs/chat.ts';
import type { AnswerHead } from '../generation/answers.ts';
import type { ResponseBody } from './response-schema.ts';
import { toContent, toText, wellFormed } from '../chat/chat.ts';
import { invalidField } from '../../errors/service-error.ts';

type Responses = OpenAI.Responses.Response;
/** The client computes `output_text`. */
export type ResponseObject = Omit<Responses, 'output_text'> & {
  /** Whether `previous_response_id` may name it. */
  store: boolean;
};
export type OutputItem =
  | OpenAI.Responses.ResponseReasoningItem
  | OpenAI.Responses.ResponseOutputMessage
  | OpenAI.Responses.ResponseFunctionToolCall;

export interface ResponseState {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  output: OutputItem[];
  usage: ChatUsage | null;
  error: Responses['error'];
}

export function toResponse(head: AnswerHead, request: ResponseBody, stored: boolean, state: ResponseState) {
  const { status, output, usage, error } = state;
  return {
    id: head.id,
    object: 'response',
    created_at: head.created,
    status,
    background: false,
    error,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    model: head.model,
    output,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: null },
    service_tier: 'default',
    temperature: request.temperature ?? 1,
    text: { format: toFormat(request) },
    tool_choice: request.tool_choice ?? 'auto',
    tools: (request.tools ?? []).map((tool) => ({
      type: 'function' as const,
      name: tool.name,
      description: tool.description ?? null,
      parameters: tool.parameters ?? null,
      strict: tool.strict ?? false,
    })),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    ...(usage ? { usage: toResponseUsage(usage) } : {}),
    store: stored,
  } satisfies ResponseObject;
}

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

export const toResponseLogprobs = (logprobs: readonly TokenLogprob[]) =>
  logprobs.map(({ token, logprob, bytes, top }) => ({
    token,
    logprob,
    bytes: bytes ?? [],
    top_logprobs: top.map((one) => ({ ...one, bytes: one.bytes ?? [] })),
  }));

/**
 * Appends a request's items to the earlier messages. Calls become part of the assistant's message before them.
 * @throws ServiceError 400
 */
export function appendItems(before: readonly ChatMessage[], input: ResponseBody['input']): ChatMessage[] {
  const messages = structuredClone(before) as ChatMessage[];
  if (typeof input === 'string') return [...messages, { role: 'user', content: wellFormed(input) }];
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
        addCall(messages, { id: item.call_id, name: item.name, arguments: item.arguments });
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

/** The items of a request as a client may list them later: each with an id. */
export function toInputItems(given: unknown): Record<string, unknown>[] {
  const items =
    typeof given === 'string' ? [{ role: 'user', content: given }] : (given as Record<string, unknown>[]);
  return items.map((item) => {
    const { content, role } = item;
    const type = role === 'assistant' ? 'output_text' : 'input_text';
    const parts = typeof content === 'string' ? { content: [{ type, text: content }] } : {};
    return { type: 'message', id: newItemId('msg'), status: 'completed', ...item, ...parts };
  });
}

export const newItemId = (prefix: 'msg' | 'fc' | 'rs' | 'resp'): string =>
  `${prefix}_${crypto.randomUUID().replaceAll('-', '')}`;
