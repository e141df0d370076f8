import { expect, test, vi } from 'vitest';

import { watchEngine } from '../../../src/link/watch-engine.ts';
import { engineLock, keepLock, LEADER_EXIT_CHANNEL, listenDirectly } from '#protocol';
import { FakeLocks } from '../../support/fake-locks.ts';

const started = async (epoch: string) => {
  const locks = new FakeLocks();
  const release = await keepLock(locks.manager, engineLock(epoch));
  return { locks, release };
};

test('hundreds of requests of one engine take one lock, and each learns of its end', async () => {
  const { locks, release } = await started('crowd');
  const requests = vi.spyOn(locks.manager, 'request');
  const reports = Array.from({ length: 300 }, () => vi.fn());
  const stops = reports.map((report) => watchEngine('/', locks.manager, 'crowd', report));
  stops[0]?.();
  expect(requests).toHaveBeenCalledTimes(1);
  release();
  await vi.waitFor(() => expect(reports[1]).toHaveBeenCalledWith({ type: 'died', cause: null }));
  expect(reports.filter(({ mock }) => mock.calls.length === 1)).toHaveLength(299);
});

test('a request that comes after the report of an end has its own', async () => {
  const { locks, release } = await started('late');
  const [first, second] = [vi.fn(), vi.fn()];
  watchEngine('/', locks.manager, 'late', first);
  release();
  await vi.waitFor(() => expect(first).toHaveBeenCalled());
  watchEngine('/', locks.manager, 'late', second);
  await vi.waitFor(() => expect(second).toHaveBeenCalledWith({ type: 'died', cause: null }));
});

test.each([true, false])('a worker that holds its lock, and answers pings: %s', async (answers) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { locks } = await started('stopped');
  const answer = { type: 'connected', epoch: 'stopped' };
  const direct = listenDirectly('/', (port) => answers && port.postMessage(answer));
  const report = vi.fn();
  const stop = watchEngine('/', locks.manager, 'stopped', report);
  for (let second = 0; second < 41; second++) {
    await vi.advanceTimersByTimeAsync(1000);
    // Messages of channels arrive in real time.
    await new Promise(setImmediate);
  }
  expect(report.mock.calls).toEqual(answers ? [] : [[{ type: 'died', cause: null }]]);
  stop();
  direct.close();
  vi.useRealTimers();
});

test('every watcher learns that the leading tab exits', async () => {
  const { locks } = await started('left');
  const reports = [vi.fn(), vi.fn()];
  const stops = reports.map((report) => watchEngine('/', locks.manager, 'left', report));
  const channel = new BroadcastChannel(LEADER_EXIT_CHANNEL);
  channel.postMessage({ epoch: 'left' });
  for (const report of reports)
    await vi.waitFor(() => expect(report).toHaveBeenCalledWith({ type: 'leaderExited' }));
  channel.close();
  for (const stop of stops) stop();
});
