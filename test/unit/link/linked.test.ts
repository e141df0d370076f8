import { expect, it, onTestFinished, vi } from 'vitest';

import { delay } from '../../../src/base/async.ts';
import type { Ways } from '../../../src/link/engine-connection.ts';
import { createRequester } from '../../../src/link/requester.ts';
import { linked } from '../../../src/link/find-engine.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { accepted, done, failure, FakeLeader, FakeSite } from './fake-leader.ts';
import { chatJob } from '../../support/chat-job.ts';

const locks = new FakeLocks();
const site = new FakeSite();
const client = createRequester({
  scope: '/',
  transport: linked(site, '/', locks.manager),
  locks: locks.manager,
  deadlineMs: 2000,
});

function lead(): FakeLeader {
  const leader = new FakeLeader(locks, ({ send }) => {
    for (const message of [accepted(), done(1)]) send(message);
  });
  onTestFinished(() => leader.die());
  site.leader = leader;
  return leader;
}

async function ask(): Promise<void> {
  const signal = new AbortController().signal;
  const types: string[] = [];
  for await (const { type } of client.run(chatJob(), { id: crypto.randomUUID(), signal })) types.push(type);
  expect(types).toEqual(['accepted', 'done']);
}

it('asks the tabs once: later requests go straight to the worker', async () => {
  const leader = lead();
  for (let count = 0; count < 3; count++) await ask();
  expect([leader.offers, leader.linked]).toEqual([1, 2]);
  await Promise.all([ask(), ask()]);
  expect([leader.offers, leader.linked]).toEqual([1, 4]);
});

it.each(['leave', 'die'] as const)('asks the tabs again once the engine is gone: %s', async (end) => {
  const first = lead();
  await ask();
  first[end]();
  const next = lead();
  // The news of the end comes by a port or a channel.
  await vi.waitFor(async () => {
    await ask();
    expect(next.offers).toBe(1);
  });
  await ask();
  expect([next.offers, next.linked]).toEqual([1, 1]);
});

it('asks the tabs, too, when a linked worker does not accept in time', async () => {
  const leader = lead();
  await ask();
  leader.busy = true;
  await ask();
  expect([leader.offers, leader.linked]).toEqual([2, 0]);
});

it.each(['linked', 'direct', 'refused'] as const)('asks the tabs for one of all waiting: %s', async (end) => {
  const asked: Ways[] = [];
  site.leader = { offer: async (ways) => void asked.push(ways) };
  const asks = Promise.allSettled(Array.from({ length: 20 }, ask));
  await delay(500);
  expect(asked.length).toBeLessThan(5);
  const leader = lead();
  leader.isDirect = end === 'direct';
  if (end === 'refused') asked[0]?.openPort().postMessage(failure('engine_failed'));
  const status = end === 'refused' ? 'rejected' : 'fulfilled';
  expect((await asks).filter((each) => each.status !== status)).toEqual([]);
  expect(leader.offers).toBeLessThan(3);
});
