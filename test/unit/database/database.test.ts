// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import { forceCloseDatabase } from 'fake-indexeddb';
import { expect, test, vi } from 'vitest';

import {
  keepSettings,
  readCatalog,
  readServerSettings,
  withDatabase,
  withTransaction,
  type KeyRecord,
} from '../../../src/database/database.ts';

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

test('a transaction that fails rejects with its own error, and leaves none unhandled', async () => {
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
