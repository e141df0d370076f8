import { TOOL_CALL_PREFIX } from './call-prompt.ts';
import type { ToolUse } from './tool-use.ts';

/** Models forget the mark, and begin a list, or a block of code, with the call itself. */
const BEGINNINGS = ['', '[', '```json\n', '```json\n['];

/** Texts that show that a call begins: where one comes, the reply is regenerated, in the form of calls. */
export const toolCallPrefixes = ({ functions }: ToolUse): string[] => [
  TOOL_CALL_PREFIX,
  ...functions.flatMap(({ name }) =>
    BEGINNINGS.flatMap((beginning) => [`${beginning}{"name": "${name}"`, `${beginning}{"name":"${name}"`]),
  ),
];
