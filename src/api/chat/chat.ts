import type { Constraint, Reasoning } from '../../protocol/job.ts';
import { given, toIncludeUsage, toJsonConstraint, toSampling } from '../body/request-fields.ts';
import { admitGeneration } from '../generation/admission.ts';
import type { AnswerFormat } from '../generation/answer-format.ts';
import type { Generation } from '../generation/generation.ts';
import { streamAnswer } from '../generation/streamed-answer.ts';
import { wholeAnswer } from '../generation/whole-answer.ts';
import type { Call } from '../http/call.ts';
import { conflicting, unsupported } from '../service-error.ts';
import { withToolPrompt } from '../tools/call-prompt.ts';
import { toToolUse } from '../tools/tool-use.ts';
import { toChatMessages, wellFormed } from './chat-messages.ts';
import { toChatCompletion } from './chat-objects.ts';
import type { ChatBody } from './chat-schema.ts';
import { ChunkEncoder } from './chunk-encoder.ts';

/** POST /v1/chat/completions */
export async function createChatCompletion(call: Call, request: ChatBody): Promise<Response> {
  const generation = toGeneration(request);
  const includeUsage = toIncludeUsage(request);
  const format: AnswerFormat = {
    idPrefix: 'chatcmpl-',
    stream: (head) => new ChunkEncoder(head, includeUsage, generation.tools !== null),
    whole: toChatCompletion,
  };
  const run = await admitGeneration(call, generation);
  return request.stream ? streamAnswer(run, format) : wholeAnswer(run, format);
}

/** @throws ServiceError 400 that names the field. */
function toGeneration(request: ChatBody): Generation {
  if (request.modalities?.includes('audio')) {
    throw unsupported('modalities', 'must be ["text"]: the models generate only text');
  }
  const tools = toToolUse(request);
  const messages = toChatMessages(request.messages);
  return {
    model: request.model,
    inputs: [{ messages: withToolPrompt(messages, tools) }],
    choices: request.n ?? 1,
    sampling: toSampling(request),
    maxTokens: toMaxTokens(request),
    constraint: toConstraint(request.response_format),
    topLogprobs: toTopLogprobs(request),
    stop: [request.stop ?? []].flat().map(wellFormed),
    tools,
    reasoning: toReasoning(request),
    params: { messages: 'messages', responseFormat: 'response_format' },
  };
}

function toMaxTokens(request: ChatBody): number | null {
  const { max_tokens: older, max_completion_tokens: newer } = request;
  if (older != null && newer != null) {
    throw conflicting('max_tokens', 'and `max_completion_tokens` mean the same: give one of them');
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

function toReasoning({ reasoning_effort: effort, chat_template_kwargs: kwargs }: ChatBody): Reasoning | null {
  const enableThinking = kwargs?.enable_thinking;
  if (effort != null && enableThinking != null && enableThinking === (effort === 'none')) {
    const rule = `is "${effort}", which contradicts \`chat_template_kwargs.enable_thinking\`: give one of them`;
    throw conflicting('reasoning_effort', rule);
  }
  const reasoning = given({ effort, enableThinking });
  return Object.keys(reasoning).length === 0 ? null : reasoning;
}

function toTopLogprobs({ logprobs, top_logprobs: top }: ChatBody): number | null {
  if (logprobs) return top ?? 0;
  if (top) throw conflicting('top_logprobs', 'needs `logprobs`: set `logprobs` to true');
  return null;
}
