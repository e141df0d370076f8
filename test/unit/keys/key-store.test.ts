import { expect, test } from 'vitest';
import { enterInFlight } from '../../../src/keys/key-store.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { sleep, virtualTime } from '../../support/virtual-time.ts';

virtualTime();

test('lets in as many as there may be, per key, and again once one has left', async () => {
  const { manager } = new FakeLocks();
  const first = await enterInFlight(manager, 'key_a', '1', 2);
  expect(first).not.toBeNull();
  expect(await enterInFlight(manager, 'key_a', '2', 2)).not.toBeNull();
  expect(await enterInFlight(manager, 'key_a', '3', 2)).toBeNull();
  expect(await enterInFlight(manager, 'key_b', '4', 2)).not.toBeNull();
  first?.();
  first?.();
  await sleep(0);
  expect(await enterInFlight(manager, 'key_a', '5', 2)).not.toBeNull();
  expect(await enterInFlight(manager, 'key_a', '6', 2)).toBeNull();
});

test('never lets in more, however they come', async () => {
  const { manager } = new FakeLocks();
  const all = await Promise.all(
    Array.from({ length: 20 }, (__, id) => enterInFlight(manager, 'key_a', `${id}`, 5)),
  );
  expect(all.filter((leave) => leave !== null).length).toBeLessThanOrEqual(5);
});

test('a request whose count fails is not counted', async () => {
  const locks = new FakeLocks();
  const query = () => Promise.reject(new Error('no locks'));
  const broken = { request: locks.manager.request, query } as unknown as LockManager;
  await expect(enterInFlight(broken, 'key_a', '1', 1)).rejects.toThrow('no locks');
  await sleep(0);
  expect(locks.heldNames()).toEqual([]);
});

test('a holder that died is not counted', async () => {
  const locks = new FakeLocks();
  await enterInFlight(locks.manager, 'key_a', '1', 1);
  expect(await enterInFlight(locks.manager, 'key_a', '2', 1)).toBeNull();
  locks.crash();
  expect(await enterInFlight(locks.manager, 'key_a', '3', 1)).not.toBeNull();
});
