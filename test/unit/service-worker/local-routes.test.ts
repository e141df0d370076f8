import { beforeEach, expect, test, vi } from 'vitest';

import { LOAD_PATH, PROTOCOL_HEADER, STATUS_PATH } from '../../../src/protocol/local-paths.ts';
import { PROTOCOL_VERSION } from '../../../src/protocol/version.ts';
// oxlint-disable-next-line import/no-unassigned-import -- gives Node a database
import 'fake-indexeddb/auto';
import { handleLocalRoute } from '../../../src/service-worker/local-routes.ts';
import { browserV1 } from '../../../src/routing/browser-v1.ts';
import { FakeLocks } from '../../support/fake-locks.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

const headers = { [PROTOCOL_HEADER]: String(PROTOCOL_VERSION) };
const engine = { scope: '/', transport: { offer: async () => undefined }, locks: new FakeLocks().manager };
const left = new AbortController();

async function answerTo(path: string, init?: RequestInit): Promise<Response> {
  const request = new Request(`https://site.test${path}`, { ...init, headers });
  const answered = handleLocalRoute(request, browserV1(engine), () => ({ gone: left.signal, stop: vi.fn() }));
  await vi.advanceTimersByTimeAsync(10_000);
  return answered;
}

test('the status while no engine answers is 204, which browsers do not log as an error', async () => {
  const response = await answerTo(STATUS_PATH);
  expect([response.status, await response.text()]).toEqual([204, '']);
});

test('a load ends without an error while its page is frozen, so that no tab leads, and when the page has gone', async () => {
  vi.stubGlobal('self', { registration: { scope: 'https://site.test/' } });
  vi.stubGlobal('navigator', engine);
  for (const leave of [() => vi.advanceTimersByTimeAsync(60_000), () => left.abort()]) {
    const response = await answerTo(`${LOAD_PATH}?model=amber-phoenix-4`, { method: 'POST' });
    await leave();
    expect([response.status, await response.text()]).toEqual([200, '']);
  }
});
