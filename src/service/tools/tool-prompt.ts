import type { ChatJob, ChatMessage } from '#jobs';
import { writeJson } from '#base';
import type { CallableTools } from './callable-tools.ts';

/** Mark before a call, as most models that were trained to call functions write it. */
export const TOOL_CALL_MARK = '<tool_call>';

/** Describes the functions in the system message of a conversation, which works with any chat template. */
export const withToolPrompt = (input: ChatJob['input'], tools: CallableTools): ChatJob['input'] =>
  'messages' in input ? { messages: withTools(input.messages, tools) } : input;

/** Prompts by their tools: each choice has the same, and megabytes take long to write. */
const prompts = new WeakMap<CallableTools, string>();

function withTools(messages: readonly ChatMessage[], tools: CallableTools): ChatMessage[] {
  const [first, ...rest] = messages;
  const prompt = prompts.get(tools) ?? toolPrompt(tools);
  prompts.set(tools, prompt);
  if (first?.role !== 'system') return [{ role: 'system', content: prompt }, ...messages];
  return [{ ...first, content: `${first.content}\n\n${prompt}` }, ...rest];
}

/** Instructions for calling tools. Kept short: on a CPU, reading a prompt takes as long as writing one. */
function toolPrompt({ functions, mustCall }: CallableTools): string {
  const list = functions.map(({ name, description, parameters }) =>
    writeJson({ name, ...(description === null ? {} : { description }), parameters }),
  );
  const form = '[{"name": "…", "arguments": {…}}]';
  return mustCall
    ? ['Call these functions:', ...list, `Write only ${form}`].join('\n')
    : [
        'You can call these functions:',
        ...list,
        `To call, write only ${TOOL_CALL_MARK}${form}</tool_call>. Otherwise answer in words.`,
      ].join('\n');
}
