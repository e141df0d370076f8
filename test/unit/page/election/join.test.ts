import { expect, test, vi } from 'vitest';

import { ElectionMember } from '../../../../src/page/election/election-member.ts';
import type { EngineSettings } from '../../../../src/page/election/engine-worker.ts';
import { joinElection } from '../../../../src/page/election/join.ts';
import { PROTOCOL_VERSION } from '../../../../src/protocol/version.ts';

const serviceWorker = Object.assign(new EventTarget(), { startMessages: () => undefined });
const locks = { request: () => new Promise(() => undefined) };

const OWN = '/a/';
const VERSIONS = [PROTOCOL_VERSION - 1, PROTOCOL_VERSION, PROTOCOL_VERSION + 1];

test.each(
  VERSIONS.flatMap((version) =>
    [OWN, '/', '/b/', '/a/c/', undefined].map((scope) => ({
      version,
      scope,
      isOwn: !scope || scope === OWN,
    })),
  ),
)(
  'a request of version $version and scope $scope: the leader takes it: $isOwn',
  ({ version, scope, isOwn }) => {
    vi.stubGlobal('navigator', { serviceWorker, locks });
    vi.stubGlobal('addEventListener', () => undefined);
    vi.stubGlobal('document', new EventTarget());
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
