import type { ChatMessage } from '#jobs';

/** Maximum number of tries. Each drops at least one turn, and the last try all turns that may be dropped. */
export const MAX_TRUNCATIONS = 6;

/** Share of the context to fill: leaves room for the reply, and for the error of an estimate by characters. */
const MARGIN = 0.9;

/**
 * Drops the oldest turns of a conversation. System messages and the last turn stay. A turn is a user message with
 * all replies to it, so that no tool result is left without its call.
 * @param share approximate fraction of the conversation that fits; 0 drops all turns that may be dropped
 * @returns null if no turn can be dropped
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

/** Approximate number of characters with as many tokens as an image. */
const IMAGE_CHARACTERS = 2000;

/** Size in characters, with an allowance for each message's role. */
const sizeOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => {
    const calls = 'toolCalls' in message ? (message.toolCalls ?? []) : [];
    const images = ('images' in message && message.images?.length) || 0;
    const size = message.content.length + images * IMAGE_CHARACTERS + 16;
    return calls.reduce((total, call) => total + call.arguments.length, sum + size);
  }, 0);
