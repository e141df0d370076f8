import { beforeEach, expect, test, vi } from 'vitest';

import { PROTOCOL_HEADER, STATUS_PATH } from '../../../src/protocol/local-paths.ts';
import { PROTOCOL_VERSION } from '../../../src/protocol/version.ts';
// oxlint-disable-next-line import/no-unassigned-import -- gives Node a database
import 'fake-indexeddb/auto';
import { handleLocalRoute } from '../../../src/service-worker/local-routes.ts';
import { browserV1 } from '../../../src/routing/browser-v1.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

test('the status while no engine answers is 204, which browsers do not log as an error', async () => {
  const request = new Request(`https://site.test${STATUS_PATH}`, {
    headers: { [PROTOCOL_HEADER]: String(PROTOCOL_VERSION) },
  });
  const engine = { scope: '/', transport: { offer: async () => undefined }, locks: new FakeLocks().manager };
  const answered = handleLocalRoute(request, browserV1(engine));
  await vi.advanceTimersByTimeAsync(10_000);
  const response = await answered;
  expect([response.status, await response.text()]).toEqual([204, '']);
});
