import { beforeEach, expect, test, vi } from 'vitest';
// oxlint-disable-next-line import/no-unassigned-import -- gives Node a database
import 'fake-indexeddb/auto';
import { writeSetting, writeSettings } from '../../../src/database/database.ts';
import { engineLock, keepLock } from '../../../src/protocol/locks.ts';
import { readDeviceFacts, withServerFacts } from '../../../src/routing/read-model-facts.ts';
import { createServers } from '../../../src/routing/servers.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { catalogOf, modelOf, serverVariant } from '../../support/catalogs.ts';

const facts = { context_length: 8192, capabilities: ['chat' as const], loaded: true };
let scope: string;
let locks: LockManager;

beforeEach(async () => {
  scope = `/${crypto.randomUUID()}/`;
  locks = new FakeLocks().manager;
  await writeSetting(scope, locks, 'engine-facts', { epoch: 'now', models: { m: facts } });
});

test('a model is loaded while its engine lives', async () => {
  const release = await keepLock(locks, engineLock('now'));
  const query = vi.spyOn(locks, 'query');
  for (let i = 0; i < 2; i++) expect((await readDeviceFacts(scope, locks)).get('m')).toEqual(facts);
  expect(query).toHaveBeenCalledTimes(1);
  release();
  await locks.request(engineLock('now'), () => undefined);
  expect((await readDeviceFacts(scope, locks)).get('m')).toEqual({ ...facts, loaded: false });
});

test('the facts of a former catalog are forgotten', async () => {
  const settings = { prefer: undefined, upstreamKeys: undefined };
  await writeSettings(scope, locks, { ...settings, catalog: { ownedBy: 'us', models: [] } });
  expect([...(await readDeviceFacts(scope, locks))]).toEqual([]);
});

const server = serverVariant('s', 'https://models.example.com/v1', { contextLength: 32768 });
const catalog = catalogOf(modelOf('m', [server]));

test('where a server answers, its own facts are told: its size and place in memory are not known', async () => {
  const servers = createServers(scope, () => undefined);
  const device = await readDeviceFacts(scope, locks);
  expect((await withServerFacts(servers, catalog, device)).get('m')).toEqual({
    context_length: 32768,
    capabilities: ['chat'],
  });
});

test('where its server fails, the device’s facts are told', async () => {
  const servers = createServers(scope, () => undefined);
  const device = await readDeviceFacts(scope, locks);
  const local = { ...server, engine: 'wllama' as const, name: 'local' };
  const both = { ...catalog, models: catalog.models.map((m) => ({ ...m, variants: [server, local] })) };
  const [target] = (await servers.targetsOf(both.models[0])) ?? [];
  target?.server?.circuit.open(new Error('away'));
  expect((await withServerFacts(servers, both, device)).get('m')).toEqual({ ...facts, loaded: false });
});
