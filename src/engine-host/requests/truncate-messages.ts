import type { ChatMessage } from '../../jobs/chat.ts';

/** Maximum number of tries. Each drops at least one turn; the last one, all that may be dropped. */
export const MAX_TRUNCATIONS = 6;

/** Room for the reply, and for an estimate by characters that is too low. */
const MARGIN = 0.9;

/**
 * The conversation without its oldest turns. System messages and the last turn, with the last user message, stay. A turn is a
 * user's message with all that answers it, so that no tool result is left without its call.
 * @param share of the conversation that fits, about; 0: drops all that may be dropped
 * @returns null: nothing is left to drop
 */
export function dropOldestTurns(messages: readonly ChatMessage[], share: number): ChatMessage[] | null {
  const turns: ChatMessage[][] = [];
  for (const message of messages) {
    if (message.role === 'system') continue;
    const current = turns.at(-1);
    if (current && message.role !== 'user') current.push(message);
    else turns.push([message]);
  }
  const excess = sizeOf(messages) * (1 - share * MARGIN);
  const dropped = new Set<ChatMessage>();
  for (let size = 0; turns.length > 1 && size < excess;) {
    const turn = turns.shift() ?? [];
    size += sizeOf(turn);
    for (const message of turn) dropped.add(message);
  }
  return dropped.size === 0 ? null : messages.filter((message) => !dropped.has(message));
}

/** Approximate length of text with as many tokens as an image. */
const IMAGE_CHARACTERS = 2000;

/** Size in characters, with some for each message's role. */
const sizeOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => {
    const calls = 'toolCalls' in message ? (message.toolCalls ?? []) : [];
    const images = ('images' in message && message.images?.length) || 0;
    const size = message.content.length + images * IMAGE_CHARACTERS + 16;
    return calls.reduce((total, call) => total + call.arguments.length, sum + size);
  }, 0);
