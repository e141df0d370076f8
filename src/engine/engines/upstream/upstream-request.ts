import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { CompletionCreateParamsStreaming } from 'openai/resources/completions';
import type { ChatJob, ChatMessage } from '../../../protocol/job.ts';
import { badRequest, type EngineError, serverError } from '../../../protocol/engine-error.ts';

export type UpstreamRequest =
  { chat: ChatCompletionCreateParamsStreaming } | { completion: CompletionCreateParamsStreaming };

export function toUpstreamRequest(job: ChatJob, model: string): UpstreamRequest {
  if (job.resume) {
    // Servers differ in what they do with a last message of the assistant: most begin a second one.
    throw serverError(
      'engine_lost',
      'The tab that ran this reply was closed, and its server cannot continue it. Send the request again.',
    );
  }
  const { temperature, topP, seed, presencePenalty, frequencyPenalty, logitBias } = job.sampling;
  const common = {
    model,
    stream: true as const,
    stream_options: { include_usage: true },
    temperature,
    top_p: topP,
    ...(seed !== undefined && { seed }),
    ...(presencePenalty !== undefined && { presence_penalty: presencePenalty }),
    ...(frequencyPenalty !== undefined && { frequency_penalty: frequencyPenalty }),
    ...(logitBias && { logit_bias: logitBias }),
    ...(job.maxTokens !== undefined && { max_tokens: job.maxTokens }),
  };
  if ('prompt' in job.input) {
    if (job.constraint) throw unsupportedFormat();
    return { completion: { ...common, prompt: job.input.prompt } };
  }
  const { effort, enableThinking } = job.reasoning ?? {};
  return {
    chat: {
      ...common,
      ...(effort !== undefined && { reasoning_effort: effort }),
      ...(enableThinking !== undefined && { chat_template_kwargs: { enable_thinking: enableThinking } }),
      messages: job.input.messages.map(toMessage),
      ...(job.topLogprobs !== undefined && { logprobs: true, top_logprobs: job.topLogprobs }),
      ...responseFormat(job),
    },
  };
}

function responseFormat({
  constraint,
}: ChatJob): Pick<ChatCompletionCreateParamsStreaming, 'response_format'> {
  switch (constraint?.kind) {
    case undefined:
      return {};
    case 'json_object':
      return { response_format: { type: 'json_object' } };
    case 'json_schema':
      return {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'reply', strict: true, schema: constraint.schema },
        },
      };
    case 'grammar':
      throw unsupportedFormat();
  }
}

function unsupportedFormat(): EngineError {
  return badRequest(
    'The server behind this model takes JSON schemas, and no grammar. Use response_format json_schema.',
    'response_format',
    'unsupported_value',
  );
}

function toMessage(message: ChatMessage): ChatCompletionMessageParam {
  switch (message.role) {
    case 'tool':
      return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content,
        ...(message.toolCalls?.length && {
          tool_calls: message.toolCalls.map(({ id, name, arguments: json }) => ({
            id,
            type: 'function' as const,
            function: { name, arguments: json },
          })),
        }),
      };
    default:
      return {
        role: message.role,
        content: message.content,
        ...(message.name !== undefined && { name: message.name }),
      };
  }
}
