// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import { forceCloseDatabase } from 'fake-indexeddb';
import { expect, test, vi } from 'vitest';

import {
  keepSettings,
  readCatalog,
  readServerSettings,
  withDatabase,
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
