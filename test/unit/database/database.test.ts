// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import { forceCloseDatabase } from 'fake-indexeddb';
import { openDB } from 'idb';
import { expect, test, vi } from 'vitest';

import {
  keepSettings,
  readCatalog,
  readServerSettings,
  withDatabase,
  withTransaction,
  type KeyRecord,
} from '../../../src/database/database.ts';
import { createResponseStore } from '../../../src/database/response-store.ts';
import { nameIn } from '../../../src/protocol/locks.ts';

const settings = {
  catalog: { ownedBy: 'site', models: [] },
  prefer: ['a'],
  upstreamKeys: { a: 'key' },
};

const deleteDatabase = (name: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const deleting = indexedDB.deleteDatabase(name);
    deleting.onsuccess = () => resolve();
    deleting.onerror = () => reject(deleting.error ?? new Error('not deleted'));
    deleting.onblocked = () => reject(new Error('blocked'));
  });

test('what a page has set is there again after its database was deleted, more than once', async () => {
  await keepSettings('/', settings);
  for (let round = 0; round < 2; round++) {
    await deleteDatabase('localtext');
    await vi.waitFor(async () => {
      expect(await readCatalog('/')).toEqual(settings.catalog);
      expect(await readServerSettings('/')).toEqual({ prefer: ['a'], upstreamKeys: { a: 'key' } });
    });
  }
});

test('and after the browser has closed it to clear the data', async () => {
  await keepSettings('/', settings);
  await withDatabase('/', async (database) => {
    await database.clear('settings');
    forceCloseDatabase(database as never);
  });
  await vi.waitFor(async () => expect(await readCatalog('/')).toEqual(settings.catalog));
});

test('a failed transaction rejects with its own error, and leaves no unhandled rejection', async () => {
  const record = { id: 'key_1', hashes: ['hash'] } as KeyRecord;
  const failing = withTransaction('/', 'keys', 'relaxed', async (store) => {
    await store.add(record);
    store.add(record).catch(() => {});
    // This one is aborted, as the one before it fails.
    return store.count();
  });
  await expect(failing).rejects.toMatchObject({ name: 'ConstraintError' });
  await expect(withTransaction('/', 'keys', 'relaxed', (store) => store.count())).resolves.toBe(0);
});

test('a response that version 2 stored is there after the upgrade, and counts among its key’s', async () => {
  const scope = '/version-2/';
  const stored = {
    id: 'resp_1',
    keyId: 'key_1',
    created: 1_000,
    response: { id: 'resp_1', object: 'response', output: [] },
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA' }] }],
    messages: [{ role: 'user' as const, content: 'Name a colour.' }],
  };
  const before = await openDB(nameIn(scope), 2, {
    upgrade(database) {
      const keys = database.createObjectStore('keys', { keyPath: 'id' });
      keys.createIndex('hashes', 'hashes', { multiEntry: true, unique: true });
      database.createObjectStore('settings');
      const responses = database.createObjectStore('responses', { keyPath: 'id' });
      responses.createIndex('age', ['created', 'characters']);
    },
  });
  await before.put('responses', { ...stored, characters: 200 });
  before.close();

  vi.spyOn(Date, 'now').mockReturnValue(2_000);
  const store = createResponseStore(scope, { responses: 1, characters: 1e6 });
  expect(await store.get('resp_1')).toEqual(stored);
  await store.put({ ...stored, id: 'resp_2', created: 1_500 });
  await vi.waitFor(async () => expect(await store.get('resp_1')).toBeNull());
  expect(await store.get('resp_2')).toMatchObject({ input: stored.input });
});

test('a database of a later version is still read and written', async () => {
  const scope = '/later/';
  await keepSettings(scope, settings);
  await withDatabase(scope, async (database) => database.close());
  const later = await openDB(nameIn(scope), 99, {
    upgrade: (database) => void database.createObjectStore('others'),
  });
  later.close();
  const changed = { ...settings, prefer: ['b'] };
  await keepSettings(scope, changed);
  expect(await readServerSettings(scope)).toEqual({ prefer: ['b'], upstreamKeys: { a: 'key' } });
});

test('a database that was created as version 1, with all stores, opens', async () => {
  const scope = '/version-1/';
  const created = await openDB(nameIn(scope), 1, {
    upgrade(database) {
      const keys = database.createObjectStore('keys', { keyPath: 'id' });
      keys.createIndex('hashes', 'hashes', { multiEntry: true, unique: true });
      database.createObjectStore('settings');
      const responses = database.createObjectStore('responses', { keyPath: 'id' });
      responses.createIndex('owner', ['keyId', 'created', 'characters']);
    },
  });
  created.close();
  await keepSettings(scope, settings);
  expect(await readServerSettings(scope)).toMatchObject({ prefer: ['a'] });
});

test('a database that does not open is an error, and is there once it has opened', async () => {
  // An open connection of an earlier version, as of a tab that shows a dialog, does not let it be upgraded.
  const earlier = await openDB(nameIn('/blocked/'), 1, {
    upgrade(database) {
      database.createObjectStore('keys', { keyPath: 'id' });
      database.createObjectStore('settings');
    },
  });
  const late = new AbortController();
  vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(late.signal);
  const read = readCatalog('/blocked/');
  late.abort(new DOMException('late', 'TimeoutError'));
  await expect(read).rejects.toMatchObject({ name: 'TimeoutError' });
  earlier.close();
  await expect(readCatalog('/blocked/')).resolves.toBeNull();
});
