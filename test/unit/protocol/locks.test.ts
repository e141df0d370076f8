import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { keepLock, requestLock, requestsRun, whenReleased } from '../../../src/protocol/locks.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

const NAME = 'localtext:engine:1';

async function keep() {
  const locks = new FakeLocks();
  const release = await keepLock(locks.manager, NAME);
  const ends: string[] = [];
  const watch = (who: string) => whenReleased(locks.manager, NAME).then(() => ends.push(who));
  return { locks, release, ends, watch };
}

it('is kept by its holder however often a script steals it, and let go of at once by the holder', async () => {
  const { locks, release, ends, watch } = await keep();
  const watches = [watch('before')];
  for (let theft = 0; theft < 5; theft++) {
    const giveBack = locks.steal(NAME);
    await sleep(1);
    giveBack();
    watches.push(watch(`after ${theft}`));
    await sleep(1);
  }
  expect(ends).toEqual([]);
  release();
  await Promise.all(watches);
  expect(ends).toHaveLength(6);
  expect(locks.heldNames()).toEqual([]);
});

it('is free once the thief has it whose victim has ended, and gives it back', async () => {
  const { locks, release, ends, watch } = await keep();
  const watching = watch('end');
  const giveBack = locks.steal(NAME);
  release();
  await sleep(1);
  expect(ends).toEqual([]);
  giveBack();
  await watching;
});

it('is let go of when its signal aborts, before or after it is held', async () => {
  const { manager } = new FakeLocks();
  const abort = new AbortController();
  await keepLock(manager, NAME, abort.signal);
  const second = keepLock(manager, NAME, abort.signal);
  abort.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  await whenReleased(manager, NAME);
});

it('shows a running request, unless an engine worker that waits for its end holds it', async () => {
  const { manager } = new FakeLocks();
  void manager.request(requestLock('/', '1'), { mode: 'shared' }, () => new Promise(() => undefined));
  expect(await requestsRun(manager, '/')).toBe(false);
});

it('leaves no listener on a signal that outlives it', async () => {
  const { manager } = new FakeLocks();
  const { signal } = new AbortController();
  const release = await keepLock(manager, NAME, signal);
  release();
  await whenReleased(manager, NAME);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
