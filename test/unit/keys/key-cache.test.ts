// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import { beforeEach, expect, test, vi } from 'vitest';

import { withDatabase } from '../../../src/database/database.ts';
import { KeyAdministrator } from '../../../src/keys/key-administrator.ts';
import { KeyCache } from '../../../src/keys/key-cache.ts';
import { createKeyStore } from '../../../src/keys/key-store.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

let scope = '';
let count = 0;
let locks: FakeLocks;
let keys: KeyAdministrator;

beforeEach(() => {
  scope = `/cache-${++count}/`;
  locks = new FakeLocks();
  keys = new KeyAdministrator(scope, locks.manager);
});

/** The store of a service worker that has just started. */
const startStore = () => createKeyStore(scope, locks.manager, new KeyCache(scope, locks.manager));

type Store = ReturnType<typeof startStore>;

const admit = async (store: Store, key: string): Promise<string> => {
  const admission = await store.admit(key, false);
  return admission.admitted ? 'admitted' : admission.reason;
};

/** Reads of keys from the database. */
const watchReads = () => vi.spyOn(IDBIndex.prototype, 'get');

test('a key that was admitted is not read again', async () => {
  const { key } = await keys.issue({ label: 'a' });
  const store = startStore();
  expect(await admit(store, key)).toBe('admitted');
  const reads = watchReads();
  for (let round = 0; round < 3; round++) expect(await admit(store, key)).toBe('admitted');
  expect(reads).not.toHaveBeenCalled();
});

test('a revoked key fails on the next request, also after a restart of the service worker', async () => {
  const { key, id } = await keys.issue({ label: 'a' });
  const store = startStore();
  expect(await admit(store, key)).toBe('admitted');
  await keys.revoke(id);
  expect(await admit(store, key)).toBe('revoked');
  expect(await admit(startStore(), key)).toBe('revoked');
});

test('each change is seen: new limits, a key that replaces another, a limit of models', async () => {
  const { key, id } = await keys.ensure({ label: 'a' });
  const store = startStore();
  expect(await store.admit(key, false)).toMatchObject({ models: null });
  await keys.ensure({ label: 'a', models: ['small'] });
  expect(await store.admit(key, false)).toMatchObject({ models: ['small'] });
  const next = await keys.rotate(id, { graceMs: 0 });
  expect(await admit(store, key)).toBe('expired');
  expect(await admit(store, next.key)).toBe('admitted');
});

test('a change waits for a service worker that has copies, until it drops them or ends', async () => {
  const { key, id } = await keys.issue({ label: 'a' });
  // It has the lock, but does not hear of changes.
  const deaf = new KeyCache(scope, locks.manager);
  vi.spyOn(BroadcastChannel.prototype, 'postMessage').mockReturnValue();
  expect(await admit(createKeyStore(scope, locks.manager, deaf), key)).toBe('admitted');
  let isDone = false;
  const revoking = keys.revoke(id).then(() => (isDone = true));
  await vi.waitFor(async () => expect((await locks.manager.query()).pending).toHaveLength(1));
  expect(isDone).toBe(false);
  locks.crash();
  await revoking;
  expect(await admit(startStore(), key)).toBe('revoked');
});

test('a key that is revoked while it is read is not kept', async () => {
  const { key, id } = await keys.issue({ label: 'a' });
  const cache = new KeyCache(scope, locks.manager);
  const { hashKey } = await import('../../../src/keys/key-store.ts');
  const hash = await hashKey(key);
  const admitted = await withDatabase(scope, (database) =>
    cache.find(database, key, async () => {
      const record = await database.getFromIndex('keys', 'hashes', hash);
      await keys.revoke(id);
      return record ? { hash, record } : null;
    }),
  );
  expect(admitted?.record.revokedAt).toBeNull();
  expect(await admit(createKeyStore(scope, locks.manager, cache), key)).toBe('revoked');
});

test('two service workers, as during an update: one keeps copies, and both see a change', async () => {
  const { key, id } = await keys.issue({ label: 'a' });
  const stores = [startStore(), startStore()];
  for (const store of stores) expect(await admit(store, key)).toBe('admitted');
  await keys.revoke(id);
  for (const store of stores) expect(await admit(store, key)).toBe('revoked');
});

test('no key is left once the user has cleared the data', async () => {
  const { key } = await keys.issue({ label: 'a' });
  const store = startStore();
  expect(await admit(store, key)).toBe('admitted');
  await new Promise((resolve) => {
    indexedDB.deleteDatabase(`localtext${scope}`).onsuccess = resolve;
  });
  expect(await admit(store, key)).toBe('unknown');
});

test('hundreds of chats at once share transactions, and none is counted twice', async () => {
  const { key, id } = await keys.issue({
    label: 'a',
    limits: { requestsPerMinute: 150, tokensPerMinute: 1000 },
  });
  const store = startStore();
  const transactions = vi.spyOn(IDBDatabase.prototype, 'transaction');
  const admissions = await Promise.all(Array.from({ length: 200 }, () => store.admit(key, true)));
  const admitted = admissions.filter((each) => each.admitted && !each.exceeded);
  expect(admitted).toHaveLength(150);
  expect(transactions.mock.calls.length).toBeLessThan(10);
  const reservations = await Promise.all(Array.from({ length: 20 }, () => store.reserve(id, 100)));
  expect(reservations.filter(({ retryAfterMs }) => retryAfterMs === null)).toHaveLength(10);
});
