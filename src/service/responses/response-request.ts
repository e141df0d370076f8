import type { ChatMessage } from '../../protocol/job.ts';
import { wellFormed } from '../chat/chat-messages.ts';
import type { Generation } from '../generation/generation.ts';
import { toJsonConstraint, toSampling } from '../body/request-fields.ts';
import { withToolPrompt } from '../tools/call-prompt.ts';
import { toToolUse, type ToolRequest, type ToolUse } from '../tools/tool-use.ts';
import type { ResponseBody } from './response-schema.ts';

const LOGPROBS = 'message.output_text.logprobs';

/** `conversation`: with this request's input. @throws ServiceError 400 */
export function toGeneration(request: ResponseBody, conversation: ChatMessage[]): Generation {
  const { instructions, text, include, reasoning, top_logprobs: top } = request;
  const tools = responseToolUse(request);
  const messages: ChatMessage[] =
    instructions == null
      ? conversation
      : [{ role: 'system', content: wellFormed(instructions) }, ...conversation];
  return {
    model: request.model,
    inputs: [{ messages: tools ? withToolPrompt(messages, tools) : messages }],
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

function responseToolUse({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: ResponseBody): ToolUse | null {
  const functions = (tools ?? []).map((tool, index) => ({ ...tool, at: `tools[${index}]` }));
  return toToolUse({ functions, parallel: parallel ?? true, ...toChoice(choice) });
}

function toChoice(choice: ResponseBody['tool_choice']): Pick<ToolRequest, 'mode' | 'allowed'> {
  if (choice == null || typeof choice === 'string') return { mode: choice ?? 'auto', allowed: null };
  if (choice.type === 'function') {
    return { mode: 'required', allowed: { names: [choice.name], at: 'tool_choice.name', one: true } };
  }
  const names = choice.tools.map(({ name }) => name);
  return { mode: choice.mode, allowed: { names, at: 'tool_choice.tools', one: false } };
}
