import type { ChatMessage } from '../../protocol/job.ts';
import type { MessageBody } from './chat-schema.ts';
import { given } from '../body/request-fields.ts';
import { invalidField, unsupported } from '../service-error.ts';

/**
 * The conversation as engines take it: parts joined, `developer` as `system`, the order of tool calls checked.
 * @throws ServiceError 400
 */
export function toChatMessages(messages: readonly MessageBody[]): ChatMessage[] {
  const calls = new Set<string>();
  return messages.map((message, index): ChatMessage => {
    const at = `messages[${index}]`;
    if (message.role === 'tool') {
      if (!calls.has(message.tool_call_id)) {
        const rule = 'must be the id of a tool call in an assistant message before this one';
        throw invalidField(`${at}.tool_call_id`, rule);
      }
      return {
        role: 'tool',
        content: toText(message.content, `${at}.content`, 'text'),
        toolCallId: message.tool_call_id,
      };
    }
    const named = given({ name: message.name });
    if (message.role !== 'assistant') {
      const role = message.role === 'developer' ? 'system' : message.role;
      return { role, content: toText(message.content, `${at}.content`, 'text'), ...named };
    }
    const toolCalls = message.tool_calls?.map((call) => {
      calls.add(call.id);
      return { id: call.id, name: call.function.name, arguments: call.function.arguments };
    });
    if (message.content == null && !toolCalls?.length) {
      const rule =
        'is required in an assistant message without `tool_calls`: it must be a string or text parts';
      throw invalidField(`${at}.content`, rule, 'missing_required_parameter');
    }
    const content = message.content == null ? '' : toText(message.content, `${at}.content`, 'text');
    return { role: 'assistant', content, ...named, ...(toolCalls?.length ? { toolCalls } : {}) };
  });
}

type Content =
  | string
  | readonly ({ type: string; text: string } | { type: 'refusal'; refusal: string } | { type: string })[];

/** `at`: where it stands in the request; `textType`: of the parts that this endpoint takes. @throws ServiceError 400 */
export function toText(content: Content, at: string, textType: 'text' | 'input_text'): string {
  if (typeof content === 'string') return wellFormed(content);
  const texts = content.map((part, index) => {
    if ('text' in part) return part.text;
    if ('refusal' in part) return part.refusal;
    const type = JSON.stringify(part.type);
    throw unsupported(
      `${at}[${index}].type`,
      `is ${type}, which this model cannot read: it takes parts of type "${textType}"`,
    );
  });
  return wellFormed(texts.join('\n'));
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Half a surrogate pair is not a character: the encoder to UTF-8 puts the replacement character in its place. */
export const wellFormed = (text: string): string =>
  /\p{Surrogate}/u.test(text) ? decoder.decode(encoder.encode(text)) : text;
