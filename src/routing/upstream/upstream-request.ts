import { conflicting, omitNulls, readJson, unsupported, type ServiceError } from '#base';
import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { CompletionCreateParamsStreaming } from 'openai/resources/completions';
import {
  SAMPLING,
  textsAndImages,
  type ChatImage,
  type ChatJob,
  type ChatMessage,
  type Sampling,
} from '#jobs';

export type UpstreamRequest =
  | { path: '/chat/completions'; body: ChatCompletionCreateParamsStreaming }
  | { path: '/completions'; body: CompletionCreateParamsStreaming };

/** @throws ServiceError 400 for fields that servers do not implement alike */
export function toUpstreamRequest(job: ChatJob, model: string): UpstreamRequest {
  const { input, sampling, maxTokens, topLogprobs } = job;
  // Fields that are undefined are not sent.
  const common = {
    model,
    stream: true as const,
    stream_options: { include_usage: true },
    ...withApiNames(sampling),
    max_tokens: maxTokens as number,
  };
  if (!('messages' in input)) {
    if (job.constraint) throw unsupportedFormat();
    return {
      path: '/completions',
      body: {
        ...common,
        prompt: input.prompt,
        // llama.cpp's server takes 0 for none at all.
        ...(topLogprobs !== undefined && { logprobs: Math.max(1, topLogprobs) }),
      },
    };
  }
  const { effort, enableThinking } = job.reasoning ?? {};
  return {
    path: '/chat/completions',
    body: {
      ...common,
      ...(effort !== undefined && { reasoning_effort: effort }),
      ...(enableThinking !== undefined && { chat_template_kwargs: { enable_thinking: enableThinking } }),
      messages: [...input.messages.map(toMessage), ...beginning(job)],
      ...(job.resume && { continue_final_message: true, add_generation_prompt: false }),
      ...(topLogprobs !== undefined && { logprobs: true, top_logprobs: topLogprobs }),
      ...responseFormat(job),
    },
  };
}

/**
 * Beginning of the reply, as the last message. vLLM continues it if the request says so, llama.cpp's server
 * whenever it is the assistant's.
 */
const beginning = ({ resume }: ChatJob): ChatCompletionMessageParam[] =>
  resume ? [{ role: 'assistant', content: resume.text }] : [];

/** Passes on all sampling fields: a server refuses those that it does not support. */
const withApiNames = (sampling: Sampling): object =>
  Object.fromEntries(
    Object.entries(sampling).map(([parameter, value]) => [SAMPLING[parameter as keyof Sampling].name, value]),
  );

type ResponseFormat = Pick<ChatCompletionCreateParamsStreaming, 'response_format'>;

function responseFormat({ constraint, resume }: ChatJob): ResponseFormat {
  if (!constraint) return {};
  if (resume && !resume.precedesConstraint)
    throw conflicting('continue_final_message', 'and a schema are not possible together with this model');
  if (constraint.kind === 'grammar') throw unsupportedFormat();
  if (constraint.kind === 'json_object') return { response_format: { type: 'json_object' } };
  // OpenAI's own rules for strict schemas refuse many that are valid here.
  const strict = constraint.parts?.every((part) => part.strict === true) ?? false;
  const schema = readJson(constraint.schema) as Record<string, unknown>;
  return { response_format: { type: 'json_schema', json_schema: { name: 'reply', strict, schema } } };
}

function unsupportedFormat(): ServiceError {
  const rule = 'cannot be a grammar: the server behind this model takes JSON schemas. Use json_schema';
  return unsupported('response_format', rule);
}

function toMessage(message: ChatMessage): ChatCompletionMessageParam {
  if (message.role === 'tool')
    return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
  const { role, content, name } = message;
  const named = omitNulls({ name });
  if (role === 'user' && message.images)
    return { role, content: textsAndImages(content, message.images).map(toPart), ...named };
  if (role !== 'assistant') return { role, content, ...named };
  const tool_calls = (message.toolCalls ?? []).map(({ id, name: called, arguments: json }) => ({
    id,
    type: 'function' as const,
    function: { name: called, arguments: json },
  }));
  return { role, content, ...named, ...(tool_calls.length > 0 && { tool_calls }) };
}

const toPart = (part: string | ChatImage): ChatCompletionContentPart =>
  typeof part === 'string'
    ? { type: 'text', text: part }
    : { type: 'image_url', image_url: { url: part.url, detail: part.detail as 'auto' } };
