import type { Constraint } from '../../protocol/job.ts';
import { toChatMessages, wellFormed } from './chat-messages.ts';
import { CHAT_REFUSED, chatSchema, type ChatBody } from './chat-schema.ts';
import type { Generation } from '../generation/generation.ts';
import { refuseUnsupported, toIncludeUsage, toJsonConstraint, toSampling } from '../body/request-fields.ts';
import { parseBody } from '../body/parse-body.ts';
import { invalidRequest, unsupported } from '../service-error.ts';
import { withToolPrompt } from '../tools/call-prompt.ts';
import { chatToolUse } from '../tools/chat-tools.ts';

/** A checked chat request: what to generate, and how to answer. */
export interface ChatRequest {
  generation: Generation;
  stream: boolean;
  includeUsage: boolean;
}

/** @throws ServiceError 400 that names the field. */
export function parseChatRequest(body: Record<string, unknown>): ChatRequest {
  const request = parseBody(chatSchema, body);
  refuseUnsupported(body, CHAT_REFUSED);
  refuseAudio(request);
  const tools = chatToolUse(request);
  const messages = toChatMessages(request.messages);
  const generation: Generation = {
    model: request.model,
    inputs: [{ messages: tools ? withToolPrompt(messages, tools) : messages }],
    choices: request.n ?? 1,
    sampling: toSampling(request),
    maxTokens: toMaxTokens(request),
    constraint: toConstraint(request.response_format),
    topLogprobs: toTopLogprobs(request),
    stop: [request.stop ?? []].flat().map(wellFormed),
    tools,
  };
  return { generation, stream: request.stream ?? false, includeUsage: toIncludeUsage(request) };
}

function refuseAudio({ modalities }: ChatBody): void {
  if (modalities?.includes('audio')) {
    throw unsupported('modalities', '`modalities` must be ["text"]: the models generate only text.');
  }
}

function toMaxTokens(request: ChatBody): number | null {
  const { max_tokens: older, max_completion_tokens: newer } = request;
  if (older != null && newer != null) {
    throw invalidRequest(
      'max_tokens',
      '`max_tokens` and `max_completion_tokens` mean the same: give one of them.',
      'invalid_parameter_combination',
    );
  }
  return newer ?? older ?? null;
}

function toConstraint(format: ChatBody['response_format']): Constraint | null {
  if (format?.type !== 'json_schema') return toJsonConstraint(format);
  return toJsonConstraint(
    { type: 'json_schema', ...format.json_schema },
    'response_format.json_schema.schema',
  );
}

function toTopLogprobs({ logprobs, top_logprobs: top }: ChatBody): number | null {
  if (logprobs) return top ?? 0;
  if (top) {
    throw invalidRequest(
      'top_logprobs',
      '`top_logprobs` needs `logprobs`: set `logprobs` to true.',
      'invalid_parameter_combination',
    );
  }
  return null;
}
