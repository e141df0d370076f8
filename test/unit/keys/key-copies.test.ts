// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import { beforeEach, expect, test, vi } from 'vitest';

import { Copies, dropCopies } from '../../../src/database/copies.ts';
import { readSetting, withDatabase, writeSettings } from '../../../src/database/database.ts';
import { KeyAdministrator } from '../../../src/keys/key-administrator.ts';
import { createKeyStore } from '../../../src/keys/key-store.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

let scope = '';
let count = 0;
let locks: FakeLocks;
let keys: KeyAdministrator;

beforeEach(() => {
  // Levels rise with time.
  vi.useFakeTimers({ toFake: ['Date'] });
  scope = `/cache-${++count}/`;
  locks = new FakeLocks();
  keys = new KeyAdministrator(scope, locks.manager);
});

/** The store of a service worker that has just started. */
const startStore = () => createKeyStore(scope, locks.manager, new Copies(scope, locks.manager));

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
  const deaf = new Copies(scope, locks.manager);
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

test('what changes while it is read is not kept', async () => {
  const { key, id } = await keys.issue({ label: 'a' });
  const copies = new Copies(scope, locks.manager);
  const read = await withDatabase(scope, (database) =>
    copies.get(database, `key:${id}`, async () => {
      const record = await database.get('keys', id);
      await keys.revoke(id);
      return record ? { record } : null;
    }),
  );
  expect(read?.record.revokedAt).toBeNull();
  expect(await admit(createKeyStore(scope, locks.manager, copies), key)).toBe('revoked');
});

test('a chat waits for no write, and its counts are stored after it', async () => {
  const { key, id } = await keys.issue({
    label: 'a',
    limits: { requestsPerMinute: 3, tokensPerMinute: 1000 },
  });
  const store = startStore();
  expect(await admit(store, key)).toBe('admitted');
  const writes = vi.spyOn(IDBObjectStore.prototype, 'put');
  for (let chat = 0; chat < 2; chat++) expect(await store.admit(key, true)).toMatchObject({ exceeded: null });
  expect(await store.reserve(id, 400)).toMatchObject({ retryAfterMs: null, taken: 400 });
  await store.settle(id, 400, 600);
  expect(writes).not.toHaveBeenCalled();
  expect(await store.reserve(id, 500)).toMatchObject({ taken: 0 });
  // After a restart, the stored levels count.
  await vi.waitFor(async () => {
    const record = await withDatabase(scope, (database) => database.get('keys', id));
    expect(Math.round(record?.tokens.level ?? 0)).toBe(400);
  });
  locks.crash();
  const next = await startStore().admit(key, true);
  expect(next).toMatchObject({ limits: { tokens: { remaining: 400 } } });
});

test('a key is counted in memory while another writer changes its stored levels', async () => {
  const { key, id } = await keys.issue({ label: 'a', limits: { requestsPerMinute: 10 } });
  const store = startStore();
  const page = createKeyStore(scope, locks.manager);
  await store.admit(key, true);
  await page.admit(key, true);
  await store.admit(key, true);
  await vi.waitFor(async () => {
    const record = await withDatabase(scope, (database) => database.get('keys', id));
    expect(Math.round(record?.requests.level ?? 0)).toBe(7);
  });
  expect(await store.admit(key, true)).toMatchObject({ limits: { requests: { remaining: 6 } } });
});

test('on a full storage, limits hold while other settings change', async () => {
  const { key } = await keys.issue({ label: 'a', limits: { requestsPerMinute: 1 } });
  const store = startStore();
  vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(() => {
    throw new DOMException('full', 'QuotaExceededError');
  });
  expect(await store.admit(key, true)).toMatchObject({ exceeded: null });
  await dropCopies(scope, locks.manager);
  expect(await store.admit(key, true)).not.toMatchObject({ exceeded: null });
});

test('a setting is read once, and again after each change', async () => {
  const copies = new Copies(scope, locks.manager);
  const settings = { prefer: undefined, upstreamKeys: undefined };
  expect(await readSetting(scope, 'catalog', copies)).toBeUndefined();
  const reads = vi.spyOn(IDBObjectStore.prototype, 'get');
  expect(await readSetting(scope, 'catalog', copies)).toBeUndefined();
  expect(reads).not.toHaveBeenCalled();
  const catalog = { ownedBy: 'us', models: [] };
  await writeSettings(scope, locks.manager, { ...settings, catalog });
  expect(await readSetting(scope, 'catalog', copies)).toEqual(catalog);
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
