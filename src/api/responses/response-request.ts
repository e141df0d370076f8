import type { ChatMessage } from '../../protocol/job.ts';
import { wellFormed } from '../chat/chat-messages.ts';
import type { Generation } from '../generation/generation.ts';
import { toJsonConstraint, toSampling } from '../body/request-fields.ts';
import { withToolPrompt } from '../tools/call-prompt.ts';
import { toToolUse } from '../tools/tool-use.ts';
import type { ResponseBody } from './response-schema.ts';

const LOGPROBS = 'message.output_text.logprobs';

/** `conversation`: with this request's input. @throws ServiceError 400 */
export function toGeneration(request: ResponseBody, conversation: ChatMessage[]): Generation {
  const { instructions, text, include, reasoning, top_logprobs: top } = request;
  const tools = toToolUse(request);
  const messages: ChatMessage[] =
    instructions == null
      ? conversation
      : [{ role: 'system', content: wellFormed(instructions) }, ...conversation];
  return {
    model: request.model,
    inputs: [{ messages: withToolPrompt(messages, tools) }],
    choices: 1,
    sampling: toSampling(request),
    maxTokens: request.max_output_tokens ?? null,
    constraint: toJsonConstraint(text?.format, 'text.format.schema'),
    topLogprobs: include?.includes(LOGPROBS) || top ? (top ?? 0) : null,
    stop: [],
    tools,
    reasoning: reasoning?.effort == null ? null : { effort: reasoning.effort },
    params: { messages: 'input', responseFormat: 'text.format' },
  };
}
