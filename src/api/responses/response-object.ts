import type OpenAI from 'openai';
import type { ChatUsage, TokenLogprob } from '../../protocol/job.ts';
import type { AnswerHead } from '../generation/answer-format.ts';
import type { ResponseBody } from './response-schema.ts';

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
    truncation: 'disabled',
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
