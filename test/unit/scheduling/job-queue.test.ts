import { expect, test, vi } from 'vitest';

import { type Claim, JobQueue } from '../../../src/scheduling/job-queue.ts';
import type { JobClass } from '../../../src/scheduling/policy.ts';
import { claim } from '../../support/claim.ts';

const { signal } = new AbortController();

test('lets in as many as there are slots, then in order of coming', async () => {
  const queue = new JobQueue(1);
  const leave = await queue.enter(signal, claim());
  const order: string[] = [];
  const second = queue.enter(signal, claim()).then((leaveSlot) => (order.push('second'), leaveSlot()));
  const third = queue.enter(signal, claim()).then((leaveSlot) => (order.push('third'), leaveSlot()));
  expect([queue.running, queue.queued]).toEqual([1, 2]);
  leave();
  await Promise.all([second, third]);
  expect(order).toEqual(['second', 'third']);
  expect([queue.running, queue.queued]).toEqual([0, 0]);
});

test('refuses with 429 and a time to wait when the line is full', async () => {
  const queue = new JobQueue(1, 1);
  await queue.enter(signal, claim());
  void queue.enter(signal, claim());
  await expect(queue.enter(signal, claim())).rejects.toMatchObject({
    wire: { status: 429, code: 'rate_limit_exceeded', retryAfterMs: expect.any(Number) },
  });
});

test('an abort in line leaves no trace', async () => {
  const queue = new JobQueue(1);
  const leave = await queue.enter(signal, claim());
  const abort = new AbortController();
  const waiting = queue.enter(abort.signal, claim());
  abort.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  leave();
  expect([queue.running, queue.queued]).toEqual([0, 0]);
});

/** A queue. `enter()` notes the name once it runs. */
function entering(...limits: ConstructorParameters<typeof JobQueue>) {
  const queue = new JobQueue(...limits);
  const order: string[] = [];
  const leaves = new Map<string, () => void>();
  const paused: string[] = [];
  const enter = async (name: string, client: string, others: Partial<Claim> = {}): Promise<void> => {
    const pause = (): void => {
      paused.push(name);
      leaves.get(name)?.();
    };
    leaves.set(name, await queue.enter(signal, claim(client, { ...others, pause })));
    order.push(name);
  };
  return { queue, order, leaves, paused, enter };
}

test('clients take turns, also with one that has many jobs in line', async () => {
  const { order, leaves, enter } = entering(1);
  for (const name of ['a1', 'a2', 'a3', 'a4']) void enter(name, 'a');
  for (const name of ['b1', 'b2']) void enter(name, 'b');
  for (let ran = 1; ran <= 6; ran++) {
    await vi.waitFor(() => expect(order.length).toBe(ran));
    leaves.get(order.at(-1) ?? '')?.();
  }
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4']);
});

test.each([
  ['for none', 'none'],
  ['as sharing', 'sharing'],
] as const)(
  'every second turn of short jobs that give way %s goes to their client’s latest',
  async (_, jobClass) => {
    const { order, leaves, enter } = entering(1);
    const short = { class: jobClass, mayBeAbandoned: true };
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void enter(name, 'a', short);
    void enter('b1', 'b', short);
    void enter('a6', 'a', { ...short, class: 'long' });
    for (let ran = 1; ran <= 7; ran++) {
      await vi.waitFor(() => expect(order.length).toBe(ran));
      leaves.get(order.at(-1) ?? '')?.();
    }
    expect(order).toEqual(['a1', 'b1', 'a5', 'a2', 'a4', 'a3', 'a6']);
  },
);

const CLASSES: JobClass[] = ['none', 'fixed', 'sharing', 'short', 'long'];

test.each(CLASSES.flatMap((many) => CLASSES.map((few) => [many, few] as const)))(
  'a full queue of jobs of the class %s refuses no other client its one of the class %s',
  async (many, few) => {
    const limit = 5;
    for (let before = 0; before <= limit; before++) {
      const queue = new JobQueue(1, limit);
      await queue.enter(signal, claim('c'));
      const refused: string[] = [];
      const enter = (name: string, kind: JobClass): void =>
        void queue.enter(signal, claim(name.slice(0, 1), { class: kind })).catch(() => refused.push(name));
      for (let count = 0; count < before; count++) enter(`a${count}`, many);
      enter('b', few);
      for (let count = before; count < limit + 3; count++) enter(`a${count}`, many);
      await new Promise((resolve) => setImmediate(resolve));
      // The last of the client that has most.
      expect(refused).toEqual(['a4', 'a5', 'a6', 'a7']);
    }
  },
);

test('jobs that give way leave their slots to others, but for one', async () => {
  const { queue, order, leaves, paused, enter } = entering(4, 4);
  for (const name of ['l1', 'l2', 'l3', 'l4']) await enter(name, 'a', { class: 'long' });
  void enter('l5', 'a', { class: 'long' });
  await enter('short', 'a');
  await vi.waitFor(() => expect(paused).toEqual(['l4', 'l3', 'l2']));
  expect(order.at(-1)).toBe('short');
  expect([queue.running, queue.queued]).toEqual([2, 1]);
  leaves.get('short')?.();
  await vi.waitFor(() => expect(order.at(-1)).toBe('l5'));
});

test('short jobs that give way leave as many slots as others wait for, and run beside them', async () => {
  const { queue, order, leaves, paused, enter } = entering(3);
  const short = { class: 'short' } as const;
  for (const name of ['s1', 's2', 's3']) await enter(name, 'a', short);
  for (const name of ['s4', 's5']) void enter(name, 'a', short);
  void enter('long', 'b', { class: 'long' });
  expect(paused).toEqual([]);
  // Also before the client's other jobs.
  await enter('first', 'a');
  expect(paused).toEqual(['s3']);
  expect([queue.running, queue.queued]).toEqual([3, 3]);
  leaves.get('first')?.();
  await vi.waitFor(() => expect(order.at(-1)).toBe('s4'));
  for (const name of ['s1', 's2', 's4']) leaves.get(name)?.();
  await vi.waitFor(() => expect(order).toEqual(['s1', 's2', 's3', 'first', 's4', 's5', 'long']));
  expect(paused).toEqual(['s3']);
});

test('a job that has given way keeps its slot for longer the next time', async () => {
  vi.useFakeTimers();
  const { order, paused, enter } = entering(1);
  await enter('long', 'a', { class: 'long', pauses: 2 });
  const short = enter('short', 'b');
  await vi.advanceTimersByTimeAsync(1900);
  expect(paused).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  await short;
  expect(order).toEqual(['long', 'short']);
});

test('of several long jobs that have given way before, all but the oldest give way at once', async () => {
  vi.useFakeTimers();
  const { order, paused, enter } = entering(3);
  for (const name of ['l1', 'l2', 'l3']) await enter(name, 'a', { class: 'long', pauses: 5 });
  void enter('short', 'b');
  await vi.advanceTimersByTimeAsync(10);
  expect(paused).toEqual(['l3', 'l2']);
  expect(order).toEqual(['l1', 'l2', 'l3', 'short']);
});

const streamed = { class: 'sharing' } as const;

test('a client with more than its share of the slots gives the latest to one that has fewer', async () => {
  const { queue, order, leaves, paused, enter } = entering(4);
  for (const name of ['a1', 'a2', 'a3', 'a4']) await enter(name, 'a', streamed);
  void enter('a5', 'a', streamed);
  await Promise.resolve();
  expect(paused).toEqual([]);
  await enter('b1', 'b', streamed);
  await enter('b2', 'b', streamed);
  void enter('b3', 'b', streamed);
  await vi.waitFor(() => expect(paused).toEqual(['a4', 'a3']));
  expect([queue.running, queue.queued]).toEqual([4, 2]);
  leaves.get('a1')?.();
  // The client that now has fewer slots, though the other's job came later.
  await vi.waitFor(() => expect(order.at(-1)).toBe('a5'));
  expect(paused).toEqual(['a4', 'a3']);
});

test('clients with one slot each take turns with those that have none, the one with the oldest job first', async () => {
  vi.useFakeTimers();
  const { order, paused, enter } = entering(2);
  for (const client of ['a', 'b']) {
    await enter(client, client, streamed);
    await vi.advanceTimersByTimeAsync(100);
  }
  void enter('c', 'c', streamed);
  await vi.advanceTimersByTimeAsync(4000);
  expect(paused).toEqual([]);
  void enter('d', 'd', streamed);
  await vi.advanceTimersByTimeAsync(1000);
  expect(paused).toEqual(['a', 'b']);
  expect(order).toEqual(['a', 'b', 'c', 'd']);
});

test('where all jobs run at once, none gives way', async () => {
  vi.useFakeTimers();
  const { order, paused, enter } = entering(Infinity);
  for (const name of ['a1', 'a2']) await enter(name, 'a', { class: 'long' });
  await enter('b1', 'b');
  await enter('a3', 'a', { class: 'long' });
  await vi.runAllTimersAsync();
  expect([order, paused]).toEqual([['a1', 'a2', 'b1', 'a3'], []]);
});
