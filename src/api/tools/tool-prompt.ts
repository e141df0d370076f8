import type { ChatMessage } from '../../jobs/chat.ts';
import type { CallableTools } from './callable-tools.ts';

/** Text before a call, as most models that were trained to call functions write it. */
const TOOL_CALL_PREFIX = '<tool_call>';

/** The conversation, with the functions described in its system message: that works with any chat template. */
export function withToolPrompt(messages: ChatMessage[], tools: CallableTools): ChatMessage[] {
  const [first, ...rest] = messages;
  const prompt = toolPrompt(tools);
  if (first?.role !== 'system') return [{ role: 'system', content: prompt }, ...messages];
  return [{ ...first, content: `${first.content}\n\n${prompt}` }, ...rest];
}

/** Instructions for calling tools. Kept short: on a CPU, reading a prompt takes as long as writing one. */
function toolPrompt({ functions, mustCall }: CallableTools): string {
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
export const toolCallPrefixes = ({ functions }: CallableTools): string[] => [
  TOOL_CALL_PREFIX,
  ...functions.flatMap(({ name }) =>
    BEGINNINGS.flatMap((beginning) => [`${beginning}{"name": "${name}"`, `${beginning}{"name":"${name}"`]),
  ),
];
