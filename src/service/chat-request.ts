import type { Constraint, Sampling } from '../protocol/job.ts';
import { toChatMessages, wellFormed } from './chat-messages.ts';
import { chatSchema, type ChatBody } from './chat-schema.ts';
import type { Generation } from './generation.ts';
import { checkJsonSchema } from './json-schema.ts';
import { schemaError } from './schema-issues.ts';
import { invalidRequest, unsupported } from './service-error.ts';
import { withToolPrompt } from './tools/call-prompt.ts';
import { chatToolUse } from './tools/chat-tools.ts';

/** A checked chat request: what to generate, and how to answer. */
export interface ChatRequest {
  generation: Generation;
  stream: boolean;
  includeUsage: boolean;
}

/** Past any context. */
const MAX_MESSAGES = 16_384;

/** What OpenAI's service does with these changes the reply, so that ignoring them would mislead. */
const REFUSED: Record<string, string> = {
  functions: 'It has been replaced by `tools`. Leave it out.',
  function_call: 'It has been replaced by `tool_choice`. Leave it out.',
  audio: 'The models write text alone. Leave it out.',
  web_search_options: 'The models run on this device and search nothing. Leave it out.',
};

/** @throws ServiceError 400 that names the field. */
export function parseChatRequest(body: Record<string, unknown>): ChatRequest {
  refuseTooMany(body);
  const parsed = chatSchema.safeParse(body);
  if (!parsed.success) throw schemaError(parsed.error, body);
  const request = parsed.data;
  refuseUnsupported(body, request);
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

/** Before the schema, which looks at each and notes every fault. */
function refuseTooMany(body: Record<string, unknown>): void {
  const messages = Object.hasOwn(body, 'messages') ? body['messages'] : null;
  if (!Array.isArray(messages) || messages.length <= MAX_MESSAGES) return;
  const rule = `must have at most ${MAX_MESSAGES} elements, but has ${messages.length}`;
  throw invalidRequest('messages', `\`messages\` ${rule}.`, 'invalid_value');
}

function refuseUnsupported(body: Record<string, unknown>, request: ChatBody): void {
  for (const [param, reason] of Object.entries(REFUSED)) {
    const given = Object.hasOwn(body, param) ? body[param] : null;
    if (given == null || (Array.isArray(given) && given.length === 0)) continue;
    throw unsupported(param, `\`${param}\` cannot be used here. ${reason}`);
  }
  if (request.modalities?.includes('audio')) {
    throw unsupported('modalities', '`modalities` must be ["text"]: the models write text alone.');
  }
}

function toSampling(request: ChatBody): Sampling {
  const { seed, presence_penalty, frequency_penalty, logit_bias } = request;
  return {
    temperature: request.temperature ?? 1,
    topP: request.top_p ?? 1,
    ...(seed == null ? {} : { seed }),
    ...(presence_penalty == null ? {} : { presencePenalty: presence_penalty }),
    ...(frequency_penalty == null ? {} : { frequencyPenalty: frequency_penalty }),
    ...(logit_bias == null ? {} : { logitBias: logit_bias }),
  };
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
  if (format == null || format.type === 'text') return null;
  if (format.type === 'json_object') return { kind: 'json_object' };
  const { schema, strict } = format.json_schema;
  if (schema == null) return { kind: 'json_object' };
  checkJsonSchema(schema, 'response_format.json_schema.schema', strict ?? false);
  return { kind: 'json_schema', schema };
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

function toIncludeUsage({ stream, stream_options: options }: ChatBody): boolean {
  if (options != null && !stream) {
    throw invalidRequest(
      'stream_options',
      '`stream_options` needs `stream`: set `stream` to true, or leave it out.',
      'invalid_parameter_combination',
    );
  }
  return options?.include_usage ?? false;
}
