import type { ChatMessage } from '../../protocol/job.ts';
import type { ToolUse } from './tool-use.ts';

/** What a model writes before a call, as most that were trained to call functions do. */
const TOOL_CALL_PREFIX = '<tool_call>';

/** The conversation, with the functions described in its system message: that works with any chat template. */
export function withToolPrompt(messages: ChatMessage[], use: ToolUse | null): ChatMessage[] {
  if (!use) return messages;
  const [first, ...rest] = messages;
  const prompt = toolPrompt(use);
  if (first?.role !== 'system') return [{ role: 'system', content: prompt }, ...messages];
  return [{ ...first, content: `${first.content}\n\n${prompt}` }, ...rest];
}

/** In few words: on a CPU, reading a prompt takes as long as writing one. */
function toolPrompt({ functions, mustCall }: ToolUse): string {
  const list = functions.map(({ name, description, parameters }) =>
    JSON.stringify({ name, ...(description === null ? {} : { description }), parameters }),
  );
  const form = '[{"name": "…", "arguments": {…}}]';
  return mustCall
    ? ['Call these functions:', ...list, `Write only ${form}`].join('\n')
    : [
        'You can call these functions:',
        ...list,
        `To call, write only ${TOOL_CALL_PREFIX}${form}</tool_call>. Otherwise answer in words.`,
      ].join('\n');
}

/** Models forget the mark, and begin a list, or a block of code, with the call itself. */
const BEGINNINGS = ['', '[', '```json\n', '```json\n['];

/** Texts that show that a call begins: where one comes, the reply is regenerated, in the form of calls. */
export const toolCallPrefixes = ({ functions }: ToolUse): string[] => [
  TOOL_CALL_PREFIX,
  ...functions.flatMap(({ name }) =>
    BEGINNINGS.flatMap((beginning) => [`${beginning}{"name": "${name}"`, `${beginning}{"name":"${name}"`]),
  ),
];
