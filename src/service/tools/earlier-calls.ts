import type { ToolCall } from '#jobs';
import { orEmptyObject } from '../body/message-content.ts';
import { calledName, CUSTOM_INPUT } from './tool-function.ts';

/** Calls of a conversation as the model writes them. */

interface Called {
  name: string;
  namespace?: string | null | undefined;
}

const nameOf = ({ name, namespace }: Called): string => calledName({ name, ...(namespace && { namespace }) });

export const toCall = (id: string, called: Called & { arguments: string }): ToolCall => ({
  id,
  name: nameOf(called),
  arguments: orEmptyObject(called.arguments),
});

export const toCustomCall = (id: string, called: Called & { input: string }): ToolCall => ({
  id,
  name: nameOf(called),
  arguments: JSON.stringify({ [CUSTOM_INPUT]: called.input }),
});
