import type { ChatMessage, ToolCall } from '../../protocol/job.ts';
import { toText, wellFormed } from '../chat/chat-messages.ts';
import { invalidField } from '../service-error.ts';
import type { ResponseBody } from './response-schema.ts';

/**
 * Appends a request's items to the earlier messages. Calls become part of the assistant's message before them.
 * @throws ServiceError 400
 */
export function appendItems(before: readonly ChatMessage[], input: ResponseBody['input']): ChatMessage[] {
  const messages = structuredClone(before) as ChatMessage[];
  if (typeof input === 'string') return [...messages, { role: 'user', content: wellFormed(input) }];
  const calls = new Set(before.flatMap((message) => callsOf(message).map(({ id }) => id)));
  for (const [index, item] of input.entries()) {
    const at = `input[${index}]`;
    switch (item.type) {
      case 'message':
      case undefined: {
        const role = item.role === 'developer' ? 'system' : item.role;
        messages.push({ role, content: toText(item.content, `${at}.content`, 'input_text') });
        break;
      }
      case 'function_call':
        calls.add(item.call_id);
        addCall(messages, { id: item.call_id, name: item.name, arguments: item.arguments });
        break;
      case 'function_call_output':
        if (!calls.has(item.call_id)) {
          const rule = 'must be the `call_id` of a function_call before this one';
          throw invalidField(`${at}.call_id`, rule);
        }
        messages.push({
          role: 'tool',
          content: toText(item.output, `${at}.output`, 'input_text'),
          toolCallId: item.call_id,
        });
    }
  }
  return messages;
}

const callsOf = (message: ChatMessage): ToolCall[] => ('toolCalls' in message && message.toolCalls) || [];

function addCall(messages: ChatMessage[], call: ToolCall): void {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') messages.push({ role: 'assistant', content: '', toolCalls: [call] });
  else if (last.toolCalls) last.toolCalls.push(call);
  else last.toolCalls = [call];
}

/** The items of a request as a client may list them later: each with an id. */
export function toInputItems(given: unknown): Record<string, unknown>[] {
  const items =
    typeof given === 'string' ? [{ role: 'user', content: given }] : (given as Record<string, unknown>[]);
  return items.map((item) => {
    const { content, role } = item;
    const type = role === 'assistant' ? 'output_text' : 'input_text';
    const parts = typeof content === 'string' ? { content: [{ type, text: content }] } : {};
    return { type: 'message', id: newItemId('msg'), status: 'completed', ...item, ...parts };
  });
}

export const newItemId = (prefix: 'msg' | 'fc' | 'rs' | 'resp'): string =>
  `${prefix}_${crypto.randomUUID().replaceAll('-', '')}`;
