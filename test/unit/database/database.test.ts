// oxlint-disable-next-line import/no-unassigned-import -- it sets the globals that idb looks for
import 'fake-indexeddb/auto';
import { forceCloseDatabase } from 'fake-indexeddb';
import { type IDBPDatabase, openDB } from 'idb';
import { beforeAll, expect, test, vi } from 'vitest';

import {
  keepSettings,
  readSetting,
  withDatabase,
  withTransaction,
  type KeyRecord,
  type Settings,
} from '../../../src/database/database.ts';
import { storageUnavailable } from '../../../src/base/errors/service-error.ts';
import { withStorage } from '../../../src/page/requirements.ts';
import { nameIn } from '../../../src/protocol/locks.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

beforeAll(() => import('../../../src/database/setting-shapes.ts'));

const { manager: locks } = new FakeLocks();
const settings = { catalog: { ownedBy: 'site', models: [] }, prefer: ['a'], upstreamKeys: { a: 'key' } };

const deleteDatabase = (name: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const deleting = indexedDB.deleteDatabase(name);
    deleting.onsuccess = () => resolve();
    deleting.onerror = () => reject(deleting.error ?? new Error('not deleted'));
    deleting.onblocked = () => reject(new Error('blocked'));
  });

test('what a page has set is there again after its database was deleted, more than once', async () => {
  await keepSettings('/', locks, settings);
  for (let round = 0; round < 2; round++) {
    await deleteDatabase('localtext');
    await vi.waitFor(async () => {
      for (const [name, value] of Object.entries(settings))
        expect(await readSetting('/', name as keyof Settings)).toEqual(value);
    });
  }
});

test('and after the browser has closed it to clear the data', async () => {
  await keepSettings('/', locks, settings);
  await withDatabase('/', async (database) => {
    await database.clear('settings');
    forceCloseDatabase(database as never);
  });
  await vi.waitFor(async () => expect(await readSetting('/', 'catalog')).toEqual(settings.catalog));
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

test('a database of a later version is still read and written, and its added models are known to other apps', async () => {
  const scope = '/later/';
  await keepSettings(scope, locks, settings);
  await withDatabase(scope, async (database) => database.close());
  const later = await openDB(nameIn(scope), 99, {
    upgrade: (database) => void database.createObjectStore('others'),
  });
  later.close();
  const changed = { ...settings, prefer: ['b'] };
  await keepSettings(scope, locks, changed);
  expect(await readSetting(scope, 'prefer')).toEqual(['b']);
  expect(await readSetting(scope, 'upstreamKeys')).toEqual({ a: 'key' });
});

test('on a full storage the earlier settings stay, and a first visit fails', async () => {
  const scope = '/full/';
  await keepSettings(scope, locks, settings);
  vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(() => {
    throw new DOMException('full', 'QuotaExceededError');
  });
  await keepSettings(scope, locks, { ...settings, prefer: ['b'] });
  expect(await readSetting(scope, 'prefer')).toEqual(['a']);
  await expect(keepSettings('/first/', locks, settings)).rejects.toThrow('full');
});

const variant = { engine: 'wllama', name: 'added/a-1', contextLength: 64, files: [] };
const added = { model: { id: 'a', name: 'A', bytes: 1, created: 1 }, variant };
const model = { id: 'm', kind: 'chat', created: 1, variants: [variant] };
const sites = { ownedBy: 'us', models: [model] };
const facts = { epoch: '', models: { m: { capabilities: ['chat'] } } };

type Row = [name: keyof Settings, whole: unknown, broken: unknown, known: unknown];
test.each<Row>([
  ['added-models', [added], [added, { id: 'old' }, null, 'a'], [added]],
  ['added-models', [added], {}, undefined],
  ['engine-facts', facts, { epoch: '', models: { m: { capabilities: 'chat' } } }, undefined],
  ['catalog', sites, { ...sites, models: [{ ...model, kind: 'x' }] }, undefined],
  ['prefer', ['a'], ['a', 1], ['a']],
  ['upstreamKeys', { a: 'k' }, null, undefined],
])('of a stored %s, what has another shape is left out, and told', async (name, whole, broken, known) => {
  const warned = vi.spyOn(console, 'warn').mockReturnValue();
  const scope = `/${name}/`;
  const put = (value: unknown) => withDatabase(scope, (database) => database.put('settings', value, name));
  await put(whole);
  expect(await readSetting(scope, name)).toEqual(whole);
  expect(warned).not.toHaveBeenCalled();
  await put(broken);
  expect(await readSetting(scope, name)).toEqual(known);
  expect(warned.mock.calls[0]?.[0]).toContain(`the stored setting ${name}, or an entry of it, is left out`);
});

test.each([
  [1, ['keys']],
  [99, ['keys', 'settings', 'responses']],
])('a database of version %d that another script made is named', async (version, stores) => {
  const scope = `/foreign${version}/`;
  const upgrade = (database: IDBPDatabase) => stores.forEach((store) => database.createObjectStore(store));
  (await openDB(nameIn(scope), version, { upgrade })).close();
  const named = {
    code: 'storage_unavailable',
    message: expect.stringContaining(`deleteDatabase('localtext${scope}')`),
  };
  await expect(withStorage(() => keepSettings(scope, locks, settings))).rejects.toMatchObject({
    ...named,
    name: 'LocaltextError',
  });
  await expect(readSetting(scope, 'catalog').catch(storageUnavailable)).rejects.toMatchObject(named);
  await deleteDatabase(nameIn(scope));
  expect(await readSetting(scope, 'catalog')).toBeUndefined();
});

test('a database that does not open is an error, and is there once it has opened', async () => {
  // A deletion waits for this connection, as of a tab that shows a dialog, and opening waits for the deletion.
  const held = await openDB(nameIn('/blocked/'), 1);
  const deleting = indexedDB.deleteDatabase(nameIn('/blocked/'));
  const late = new AbortController();
  vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(late.signal);
  const read = readSetting('/blocked/', 'catalog');
  late.abort(new DOMException('late', 'TimeoutError'));
  await expect(read).rejects.toMatchObject({ name: 'TimeoutError' });
  // At once: the next call does not wait for the time limit again.
  await expect(readSetting('/blocked/', 'prefer')).rejects.toMatchObject({ name: 'TimeoutError' });
  held.close();
  await vi.waitFor(() => expect(deleting.readyState).toBe('done'));
  await expect(readSetting('/blocked/', 'catalog')).resolves.toBeUndefined();
});
