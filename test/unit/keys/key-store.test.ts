import { expect, test } from 'vitest';
import { enterInFlight } from '../../../src/keys/key-store.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { sleep, virtualTime } from '../../support/virtual-time.ts';

virtualTime();

test('lets in as many as there may be, per key, and again once one has left', async () => {
  const { manager } = new FakeLocks();
  const first = await enterInFlight(manager, 'key_a', 2);
  expect(first).not.toBeNull();
  expect(await enterInFlight(manager, 'key_a', 2)).not.toBeNull();
  expect(await enterInFlight(manager, 'key_a', 2)).toBeNull();
  expect(await enterInFlight(manager, 'key_b', 2)).not.toBeNull();
  first?.();
  first?.();
  await sleep(0);
  expect(await enterInFlight(manager, 'key_a', 2)).not.toBeNull();
  expect(await enterInFlight(manager, 'key_a', 2)).toBeNull();
});

test.each([1, 5, 64])('lets in %d of more that come at once', async (limit) => {
  const { manager } = new FakeLocks();
  const all = await Promise.all(Array.from({ length: 80 }, () => enterInFlight(manager, 'key_a', limit)));
  expect(all.filter((leave) => leave !== null).length).toBe(limit);
});

test('a request whose count fails is not counted', async () => {
  const locks = new FakeLocks();
  await enterInFlight(locks.manager, 'key_a', 1);
  const query = () => Promise.reject(new Error('no locks'));
  const broken = { request: locks.manager.request, query } as unknown as LockManager;
  await expect(enterInFlight(broken, 'key_a', 1)).rejects.toThrow('no locks');
  expect(locks.heldNames().length).toBe(1);
});

test('a holder that died is not counted', async () => {
  const locks = new FakeLocks();
  await enterInFlight(locks.manager, 'key_a', 1);
  expect(await enterInFlight(locks.manager, 'key_a', 1)).toBeNull();
  locks.crash();
  expect(await enterInFlight(locks.manager, 'key_a', 1)).not.toBeNull();
});
