import { afterAll, expect, test, vi } from 'vitest';

import { ElectionMember } from '../../../../src/page/election/election-member.ts';
import type { EngineSettings } from '../../../../src/page/election/engine-worker.ts';
import { leaderLock } from '../../../../src/protocol/locks.ts';
import { FakeLocks } from '../../../support/fake-locks.ts';

const locks = new FakeLocks();
vi.stubGlobal('navigator', { locks: locks.manager });
afterAll(() => vi.unstubAllGlobals());

const running = new Set<string>();
let started = 0;
vi.mock(import('../../../../src/page/election/engine-worker.ts'), async (original) => ({
  ...(await original()),
  spawnEngineWorker: async () => {
    const epoch = String(++started);
    running.add(epoch);
    return {
      epoch,
      serve: () => undefined,
      gone: new Promise<void>(() => undefined),
      released: Promise.resolve(),
      terminate: () => void running.delete(epoch),
    };
  },
}));

test('a tab whose lock is stolen ends its engine, and leads again when the lock is free', async () => {
  const stop = new AbortController();
  const member = new ElectionMember('/', {} as EngineSettings);
  const ended = member.run(stop.signal);
  await expect.poll(() => [...running]).toEqual(['1']);
  const release = locks.steal(leaderLock('/'));
  await expect.poll(() => [...running]).toEqual([]);
  expect(member.leading).toBe(false);
  release();
  await expect.poll(() => [...running]).toEqual(['2']);
  expect(member.leading).toBe(true);
  stop.abort();
  await ended;
  expect([...running]).toEqual([]);
});
