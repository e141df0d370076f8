import { getEventListeners } from 'node:events';

import { beforeEach, expect, test, vi } from 'vitest';

import { watchClient, watchLimit } from '../../../src/service-worker/watch-client.ts';

beforeEach(() => void vi.useFakeTimers());

const listed = new Set<string>();
let looks = 0;
const clients = {
  async get(id: string) {
    looks++;
    return listed.has(id) ? { id } : undefined;
  },
};

test('a client that leaves just after its request is noticed', async () => {
  listed.add('page');
  const { gone } = watchClient(clients, 'page');
  await vi.advanceTimersByTimeAsync(10);
  listed.delete('page');
  await vi.advanceTimersByTimeAsync(250);
  expect(gone.aborted).toBe(true);
});

test('a client that leaves later is noticed within a second', async () => {
  listed.add('page');
  const { gone } = watchClient(clients, 'page');
  await vi.advanceTimersByTimeAsync(5000);
  expect(gone.aborted).toBe(false);
  listed.delete('page');
  await vi.advanceTimersByTimeAsync(1000);
  expect(gone.aborted).toBe(true);
});

test('a client with many requests is looked for once at a time', async () => {
  looks = 0;
  listed.add('crowd');
  const watches = Array.from({ length: 200 }, () => watchClient(clients, 'crowd'));
  await vi.advanceTimersByTimeAsync(10);
  watches.push(watchClient(clients, 'crowd'));
  expect(looks).toBe(1);
  listed.delete('crowd');
  await vi.advanceTimersByTimeAsync(250);
  expect(watches.every(({ gone }) => gone.aborted)).toBe(true);
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

const asking = (limit: string | null): Request =>
  new Request(
    'https://site.example/v1/models',
    limit === null ? {} : { headers: { 'x-stainless-timeout': limit } },
  );

test.each(['0', '1', '600'])('a time limit of %s s ends its request two seconds later', async (limit) => {
  const { gone } = watchLimit(asking(limit));
  await vi.advanceTimersByTimeAsync(Number(limit) * 1000 + 1999);
  expect(gone.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(gone.aborted).toBe(true);
});

test.each([null, '', '-1', '1.5', 'none', '9999999'])('%s is no time limit', (limit) => {
  watchLimit(asking(limit));
  expect(vi.getTimerCount()).toBe(0);
});

test('a time limit ends with its request', () => {
  watchLimit(asking('1')).stop();
  expect(vi.getTimerCount()).toBe(0);
});
