import type { ToolCall } from '#jobs';

/** Appends calls to a message's text, in the notation that most tool-calling models are trained on. */
export function withToolCalls(content: string, calls: readonly ToolCall[]): string {
  const written = calls.map(
    ({ name, arguments: json }) =>
      `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${json}}\n</tool_call>`,
  );
  return [content, ...written].filter((part) => part !== '').join('\n');
}

/** The beginning of a tool's result in a text. Many templates write the same. */
export const RESULT_START = '<tool_response>';
export const RESULT_END = '</tool_response>';

export const resultText = (content: string): string => `${RESULT_START}\n${content}\n${RESULT_END}`;
