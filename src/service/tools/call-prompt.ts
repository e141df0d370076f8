import type { ChatMessage } from '../../protocol/job.ts';
import type { ToolUse } from './tool-use.ts';

/** What a model writes before a call, as most that were trained to call functions do. */
export const CALL_MARK = '<tool_call>';

/** The conversation, with the functions described in its system message: that works with any chat template. */
export function withToolPrompt(messages: ChatMessage[], use: ToolUse): ChatMessage[] {
  const [first, ...rest] = messages;
  const prompt = toolPrompt(use);
  if (first?.role !== 'system') return [{ role: 'system', content: prompt }, ...messages];
  return [{ ...first, content: `${first.content}\n\n${prompt}` }, ...rest];
}

function toolPrompt({ functions, mustCall, most }: ToolUse): string {
  const list = functions.map(({ name, description, parameters }) =>
    JSON.stringify({ name, ...(description === null ? {} : { description }), parameters }),
  );
  const when = mustCall
    ? 'Answer by calling them.'
    : 'When one of them helps to answer, call it; otherwise answer in plain words.';
  const several = most > 1 ? ' Several calls go into the same list.' : '';
  return [
    'You can call functions. Each line describes one as JSON:',
    ...list,
    `${when} To call, write nothing but this:`,
    CALL_MARK,
    '[{"name": "the function", "arguments": {"the arguments": "as its parameters say"}}]',
    `</tool_call>${several}`,
  ].join('\n');
}
