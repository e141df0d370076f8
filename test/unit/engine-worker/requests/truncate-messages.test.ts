import { expect, test } from 'vitest';
import type { ChatMessage } from '../../../../src/jobs/chat.ts';
import { dropOldestTurns } from '../../../../src/engine-worker/requests/truncate-messages.ts';

const system: ChatMessage = { role: 'system', content: 'Be brief.' };
const turn = (index: number, length: number): ChatMessage[] => [
  { role: 'user', content: `${index}`.repeat(length) },
  { role: 'assistant', content: '', toolCalls: [{ id: `c${index}`, name: 'f', arguments: '{}' }] },
  { role: 'tool', content: 'done', toolCallId: `c${index}` },
];
const conversation = [system, ...turn(1, 100), ...turn(2, 100), ...turn(3, 100)];

test('whole turns go, the oldest first, until about the share that fits is left', () => {
  expect(dropOldestTurns(conversation, 0.8)).toEqual([system, ...turn(2, 100), ...turn(3, 100)]);
  expect(dropOldestTurns(conversation, 0.5)).toEqual([system, ...turn(3, 100)]);
});

test('system messages and the last turn stay', () => {
  expect(dropOldestTurns(conversation, 0)).toEqual([system, ...turn(3, 100)]);
  expect(dropOldestTurns([system, ...turn(1, 100)], 0)).toBeNull();
});

test('a prompt that is a little too long loses a turn at least', () => {
  expect(dropOldestTurns([...turn(1, 1), ...turn(2, 1000)], 0.999)).toEqual(turn(2, 1000));
});
