import { expect, test } from 'vitest';

import { SlotQueue } from '../../../src/worker/slot-queue.ts';

const { signal } = new AbortController();

test('lets in as many as there are slots, then in order of coming', async () => {
  const queue = new SlotQueue(1);
  const leave = await queue.enter(signal);
  const order: string[] = [];
  const second = queue.enter(signal).then((leaveSlot) => (order.push('second'), leaveSlot()));
  const third = queue.enter(signal).then((leaveSlot) => (order.push('third'), leaveSlot()));
  expect([queue.running, queue.queued]).toEqual([1, 2]);
  leave();
  await Promise.all([second, third]);
  expect(order).toEqual(['second', 'third']);
  expect([queue.running, queue.queued]).toEqual([0, 0]);
});

test('refuses with 429 and a time to wait when the line is full', async () => {
  const queue = new SlotQueue(1, 1);
  await queue.enter(signal);
  void queue.enter(signal);
  await expect(queue.enter(signal)).rejects.toMatchObject({
    wire: { status: 429, code: 'rate_limit_exceeded', retryAfterMs: expect.any(Number) },
  });
});

test('an abort in line leaves no trace', async () => {
  const queue = new SlotQueue(1);
  const leave = await queue.enter(signal);
  const abort = new AbortController();
  const waiting = queue.enter(abort.signal);
  abort.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  leave();
  expect([queue.running, queue.queued]).toEqual([0, 0]);
});
