import { beforeEach, expect, test, vi } from 'vitest';

import { DEFAULT_CATALOG_HASH } from '../../../../src/catalog/default-catalog-hash.ts';
import { ElectionMember } from '../../../../src/page/election/election-member.ts';
import type { EngineSettings } from '../../../../src/page/election/engine-worker.ts';
import { joinElection } from '../../../../src/page/election/join.ts';
import { settingsChannel } from '../../../../src/protocol/discovery.ts';
import { PROTOCOL_VERSION } from '../../../../src/protocol/version.ts';

const serviceWorker = Object.assign(new EventTarget(), { startMessages: () => undefined });
const locks = { request: () => new Promise(() => undefined), query: async () => ({}) };

const OWN = '/a/';
const VERSIONS = [PROTOCOL_VERSION - 1, PROTOCOL_VERSION, PROTOCOL_VERSION + 1];

beforeEach(() => {
  vi.stubGlobal('navigator', { serviceWorker, locks });
  vi.stubGlobal('addEventListener', () => undefined);
  vi.stubGlobal('document', new EventTarget());
});

test.each(
  VERSIONS.flatMap((version) =>
    [OWN, '/', '/b/', '/a/c/', undefined].map((scope) => ({ version, scope, isOwn: scope === OWN })),
  ),
)(
  'a request of version $version and scope $scope: the leader takes it: $isOwn',
  ({ version, scope, isOwn }) => {
    const serve = vi.spyOn(ElectionMember.prototype, 'serve').mockReturnValue();
    const { leave } = joinElection(OWN, {} as EngineSettings);
    const { port1, port2 } = new MessageChannel();
    const data = { type: 'localtext:need-engine', version, ...(scope && { scope }) };
    serviceWorker.dispatchEvent(new MessageEvent('message', { data, ports: [port2] }));
    expect(serve.mock.calls.map(([, asked]) => asked)).toEqual(isOwn ? [version] : []);
    leave();
    port1.close();
  },
);

test('a tab tells its settings as it joins, and queues again where another has others', async () => {
  const queueAgain = vi.spyOn(ElectionMember.prototype, 'queueAgain').mockResolvedValue();
  const other = new BroadcastChannel(settingsChannel(OWN));
  const told: unknown[] = [];
  other.onmessage = ({ data }) => told.push(data);
  const { leave } = joinElection(OWN, { prefer: ['a'] } as EngineSettings);
  // Tabs of two builds may have the same settings, and other default catalogs.
  const settings = { prefer: ['a'], catalog: DEFAULT_CATALOG_HASH };
  await expect.poll(() => told).toEqual([JSON.stringify([PROTOCOL_VERSION, settings])]);
  other.postMessage(told[0]);
  other.postMessage(JSON.stringify([PROTOCOL_VERSION, { prefer: ['b'] }]));
  await expect.poll(() => queueAgain.mock.calls).toHaveLength(1);
  leave();
  other.close();
});

test('a sandboxed frame, which is refused service workers and locks, joins without an error', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue();
  const refuse = (): never => {
    throw new DOMException('sandboxed', 'SecurityError');
  };
  const refused = { request: async () => refuse(), query: async () => refuse() };
  vi.stubGlobal('navigator', Object.defineProperty({ locks: refused }, 'serviceWorker', { get: refuse }));
  const { leave } = joinElection('/sandboxed/', {} as EngineSettings);
  await vi.waitFor(() => expect(error).toHaveBeenCalledOnce());
  leave();
});
