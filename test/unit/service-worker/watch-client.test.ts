import { getEventListeners } from 'node:events';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { watchClient } from '../../../src/service-worker/watch-client.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const listed = new Set<string>();
const clients = {
  get: async (id: string) => (listed.has(id) ? { id } : undefined),
};

test('a client that goes just after it has asked is noticed', async () => {
  listed.add('page');
  const { gone } = watchClient(clients, 'page');
  await vi.advanceTimersByTimeAsync(10);
  listed.delete('page');
  await vi.advanceTimersByTimeAsync(250);
  expect(gone.aborted).toBe(true);
});

test('a client that goes later is noticed within a second', async () => {
  listed.add('page');
  const { gone } = watchClient(clients, 'page');
  await vi.advanceTimersByTimeAsync(5000);
  expect(gone.aborted).toBe(false);
  listed.delete('page');
  await vi.advanceTimersByTimeAsync(1000);
  expect(gone.aborted).toBe(true);
});

test('a client that is never listed, or no longer watched, is not taken for gone', async () => {
  const never = watchClient(clients, 'worker');
  listed.add('page');
  const stopped = watchClient(clients, 'page');
  await vi.advanceTimersByTimeAsync(10);
  stopped.stop();
  listed.delete('page');
  await vi.advanceTimersByTimeAsync(60_000);
  expect([never.gone.aborted, stopped.gone.aborted]).toEqual([false, false]);
  never.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test('it aborts with any of its signals, and leaves no listener on them once it is stopped', async () => {
  const aborts = [new AbortController(), new AbortController()];
  const signals = aborts.map(({ signal }) => signal);
  const first = watchClient(clients, 'worker', signals);
  const second = watchClient(clients, 'worker', signals);
  first.stop();
  aborts[1]?.abort(new Error('enough'));
  expect([first.gone.aborted, second.gone.reason]).toEqual([false, new Error('enough')]);
  const late = watchClient(clients, 'worker', signals);
  expect(late.gone.reason).toEqual(new Error('enough'));
  late.stop();
  second.stop();
  expect(signals.map((signal) => getEventListeners(signal, 'abort'))).toEqual([[], []]);
});
