import type { ChatBody } from '../chat/chat-schema.ts';
import { toToolUse, type ToolRequest, type ToolUse } from './tool-use.ts';

/** The tools of a chat completion. @throws ServiceError 400 that names the field. */
export function chatToolUse({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: ChatBody): ToolUse | null {
  const functions = (tools ?? []).map((tool, index) => ({
    ...tool.function,
    at: `tools[${index}].function`,
  }));
  return toToolUse({ functions, parallel: parallel ?? true, ...toChoice(choice) });
}

function toChoice(choice: ChatBody['tool_choice']): Pick<ToolRequest, 'mode' | 'allowed'> {
  if (choice == null || typeof choice === 'string') return { mode: choice ?? 'auto', allowed: null };
  if (choice.type === 'function') {
    return {
      mode: 'required',
      allowed: { names: [choice.function.name], at: 'tool_choice.function.name', one: true },
    };
  }
  const { mode, tools } = choice.allowed_tools;
  const names = tools.map((tool) => tool.function.name);
  return { mode, allowed: { names, at: 'tool_choice.allowed_tools.tools', one: false } };
}
