import { expect, test } from 'vitest';

import { Mutex, shared, untilFailure } from '../../../src/base/async.ts';

test('calls that come during a read share the next one, which may succeed where that failed', async () => {
  let stored = 0;
  let reads = 0;
  const read = shared(async () => {
    reads++;
    const value = stored;
    await Promise.resolve();
    if (value === 0) throw new Error('empty');
    return value;
  });
  const first = read();
  const early = read();
  await Promise.resolve();
  stored = 1;
  const late = [read(), read()];
  await expect(first).rejects.toThrow('empty');
  await expect(early).rejects.toThrow('empty');
  expect(await Promise.all(late)).toEqual([1, 1]);
  expect(reads).toBe(2);
  stored = 2;
  expect(await read()).toBe(2);
});

test('what has failed is made again, and what was made stays', async () => {
  let made = 0;
  const make = untilFailure(async () => {
    if (++made === 1) throw new Error('late');
    return made;
  });
  const first = [make(), make()];
  for (const each of first) await expect(each).rejects.toThrow('late');
  expect(await make()).toBe(2);
  expect(await make()).toBe(2);
});

test('a mutex runs tasks in order, skips aborted ones, and survives failures', async () => {
  const mutex = new Mutex();
  const order: string[] = [];
  const gone = new AbortController();
  const unlock = await mutex.lock(gone.signal);
  const skipped = mutex.run(async () => order.push('skipped'), gone.signal);
  const failed = mutex.run(async () => {
    order.push('failed');
    throw new Error('fault');
  });
  const last = mutex.run(async () => order.push('last'));
  gone.abort(new Error('gone'));
  await expect(skipped).rejects.toThrow('gone');
  expect(order).toEqual([]);
  unlock();
  await expect(failed).rejects.toThrow('fault');
  await last;
  expect(order).toEqual(['failed', 'last']);
});
