import { afterAll, expect, test, vi } from 'vitest';

import { ElectionMember } from '../../../../src/page/election/election-member.ts';
import { LocaltextError } from '../../../../src/page/localtext-error.ts';
import type { EngineSettings } from '../../../../src/page/election/engine-worker.ts';
import { directChannel, listenDirectly } from '../../../../src/protocol/discovery.ts';
import { keepLock, leaderLock, leaderUrlLock, requestLock } from '../../../../src/protocol/locks.ts';
import { PROTOCOL_VERSION } from '../../../../src/protocol/version.ts';
import { abortable } from '../../../../src/base/async.ts';
import { FakeLocks } from '../../../support/fake-locks.ts';
import { sleep } from '../../../support/virtual-time.ts';

const locks = new FakeLocks();
vi.stubGlobal('navigator', { locks: locks.manager });
vi.stubGlobal('location', { origin: 'https://site.example', pathname: '/app' });
afterAll(() => vi.unstubAllGlobals());

/** Script of a build that the server no longer has. */
const GONE = '/old-worker.js';
const REPLACED = '/replaced.js';
const settings = (workerUrl: string | null): EngineSettings => ({ workerUrl }) as EngineSettings;

const running = new Set<string>();
let started = 0;
const startedAt: number[] = [];
/** How long the next workers live, in milliseconds; those after them do not end. */
let lives: (number | 'fails')[] = [];
/** The worker starts then. */
let gate = Promise.resolve();
/** The messages about failures can be fetched then. */
let messages = Promise.resolve();
vi.mock(import('../../../../src/page/load-chunk.ts'), async (original) => {
  const { startErrors, ...others } = await original();
  return { ...others, startErrors: () => messages.then(startErrors) };
});
vi.mock(import('../../../../src/page/election/engine-worker.ts'), async (original) => ({
  ...(await original()),
  spawnEngineWorker: async (_scope, { workerUrl }, signal) => {
    await abortable(gate, signal);
    if (workerUrl === GONE) throw new Error('no script');
    if (workerUrl === REPLACED) throw new LocaltextError('build_replaced', 'Reload this page.');
    startedAt.push(performance.now());
    const livesMs = lives.shift();
    if (livesMs === 'fails') throw new Error('no script');
    const epoch = String(++started);
    running.add(epoch);
    return {
      epoch,
      serve: () => undefined,
      gone: livesMs === undefined ? new Promise<void>(() => undefined) : sleep(livesMs),
      released: Promise.resolve(),
      terminate: () => void running.delete(epoch),
    };
  },
}));

/** @returns a function that has them leave, and waits for their end */
function join(...members: ElectionMember[]): () => Promise<unknown> {
  const stop = new AbortController();
  const ended = members.map((member) => member.run(stop.signal));
  return () => (stop.abort(), Promise.all(ended));
}

test('a tab whose lock is stolen ends its engine, and leads again when the lock is free', async () => {
  const member = new ElectionMember('/', {} as EngineSettings);
  const leave = join(member);
  await expect.poll(() => [...running]).toEqual(['1']);
  const named = leaderUrlLock('/', 'https://site.example/app');
  expect(locks.heldNames()).toContain(named);
  const release = locks.steal(leaderLock('/'));
  await expect.poll(() => [...running]).toEqual([]);
  expect(member.leading).toBe(false);
  await expect.poll(() => locks.heldNames()).not.toContain(named);
  release();
  await expect.poll(() => [...running]).toEqual(['2']);
  expect(member.leading).toBe(true);
  await leave();
  expect([...running]).toEqual([]);
});

test('a visible tab takes over from one that does not answer, which queues when it runs again', async () => {
  const members = [1, 2, 3].map(() => new ElectionMember('/', {} as EngineSettings));
  const leave = join(...members);
  await expect.poll(() => running.size).toBe(1);
  const [epoch] = running;
  for (const hidden of [true, false]) {
    vi.stubGlobal('document', { hidden });
    members[hidden ? 1 : 2]?.takeOver();
  }
  await expect.poll(() => members.map(({ leading }) => leading)).toEqual([false, false, true]);
  await expect.poll(() => [running.size, running.has(epoch ?? '')]).toEqual([1, false]);
  await leave();
});

test('while a lock is stolen repeatedly, waiting requests get the reason; afterwards they are served', async () => {
  const member = new ElectionMember('/', {} as EngineSettings);
  const leave = join(member);
  const answers: unknown[] = [];
  gate = new Promise(() => undefined);
  for (let theft = 1; theft <= 3; theft++) {
    await expect.poll(() => member.leading, { timeout: 5000 }).toBe(true);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => data.type === 'stage' || answers.push(data);
    member.serve(port2, PROTOCOL_VERSION);
    locks.steal(leaderLock('/'))();
    await expect.poll(() => member.leading).toBe(false);
  }
  gate = Promise.resolve();
  await expect.poll(() => answers).toMatchObject([{ type: 'error', error: { code: 'engine_unavailable' } }]);
  await expect.poll(() => running.size, { timeout: 5000 }).toBe(1);
  await leave();
});

test('a tab whose message about a failed start cannot be fetched can leave', async () => {
  vi.spyOn(console, 'error').mockReturnValue();
  messages = new Promise(() => undefined);
  const leave = join(new ElectionMember('/', settings(GONE)));
  await expect.poll(() => vi.mocked(console.error).mock.calls.length).toBe(2);
  await leave();
  expect(locks.heldNames()).not.toContain(leaderLock('/'));
  messages = Promise.resolve();
});

test('a tab whose build is gone from the server reports it, even without its message file', async () => {
  vi.spyOn(console, 'error').mockReturnValue();
  messages = Promise.reject(new Error('no script'));
  messages.catch(() => undefined);
  const leave = join(new ElectionMember('/', settings(REPLACED)));
  const port = new BroadcastChannel(`${directChannel('/')}:2`);
  const calls = new BroadcastChannel(directChannel('/'));
  const answers: unknown[] = [];
  port.onmessage = ({ data }) => answers.push(data);
  const call = (): number => (calls.postMessage({ channel: port.name }), answers.length);
  await expect.poll(call, { timeout: 5000 }).toBeGreaterThan(0);
  expect(answers[0]).toMatchObject({ type: 'error', error: { code: 'build_replaced' } });
  calls.close();
  port.close();
  await leave();
  messages = Promise.resolve();
});

test('while the worker does not start, a direct call gets the reason', async () => {
  vi.spyOn(console, 'error').mockReturnValue();
  lives = ['fails', 'fails', 'fails'];
  const leave = join(new ElectionMember('/', {} as EngineSettings));
  const answers: unknown[] = [];
  const calls = new BroadcastChannel(directChannel('/'));
  const port = new BroadcastChannel(`${directChannel('/')}:1`);
  port.onmessage = ({ data }) => answers.push(data);
  const call = (): number => (calls.postMessage({ channel: port.name }), answers.length);
  await expect.poll(call, { timeout: 5000 }).toBeGreaterThan(0);
  expect(answers[0]).toMatchObject({ type: 'error', error: { code: 'engine_worker_failed' } });
  await expect.poll(() => running.size, { timeout: 5000 }).toBe(1);
  answers.length = 0;
  const heard = new Promise((resolve) => listenDirectly('/', resolve));
  call();
  await heard;
  // A refusal would come before what is sent after it.
  new BroadcastChannel(port.name).postMessage('the last');
  await expect.poll(() => answers).toEqual(['the last']);
  calls.close();
  port.close();
  await leave();
});

test('a tab that cannot start its worker lets the next one lead, and leads again where none waits', async () => {
  vi.spyOn(console, 'error').mockReturnValue();
  const broken = new ElectionMember('/', settings(GONE));
  const member = new ElectionMember('/', settings(null));
  const leaveBroken = join(broken);
  await expect.poll(() => broken.leading).toBe(true);
  const leave = join(member);
  await expect.poll(() => [member.leading, broken.leading, running.size]).toEqual([true, false, 1]);
  await leave();
  await expect.poll(() => [member.leading, broken.leading, running.size]).toEqual([false, true, 0]);
  await leaveBroken();
});

test('a tab that is to queue again ends its engine once no request runs, if another tab waits', async () => {
  const stop = new AbortController();
  const [first, second] = [settings(null), settings(null)].map((each) => new ElectionMember('/', each));
  if (!first || !second) throw new Error('no members');
  const ended = [first.run(stop.signal)];
  await expect.poll(() => running.size).toBe(1);
  const [epoch] = running;
  await first.queueAgain();
  expect([...running]).toEqual([epoch]);

  ended.push(second.run(stop.signal));
  const release = await keepLock(locks.manager, requestLock('/', 'a'));
  const query = vi.spyOn(locks.manager, 'query');
  const queued = first.queueAgain();
  await expect.poll(() => query.mock.calls.length, { timeout: 5000 }).toBeGreaterThan(2);
  expect([...running]).toEqual([epoch]);
  release();
  await queued;
  await expect.poll(() => [first.leading, second.leading, running.size]).toEqual([false, true, 1]);
  // In the queue, it goes behind the others.
  const third = new ElectionMember('/', settings(null));
  ended.push(third.run(stop.signal));
  await first.queueAgain();
  await second.queueAgain();
  await expect.poll(() => [first, second, third].map(({ leading }) => leading)).toEqual([false, false, true]);
  stop.abort();
  await Promise.all(ended);
  expect(running.size).toBe(0);
});

test('pauses after workers that live shortly, or do not start, double up to 10 s; one that lives long ends the row', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  vi.spyOn(console, 'error').mockReturnValue();
  try {
    const short = [100, 'fails', 4000, 'fails', 50, 100, 100, 100] as const;
    lives = [...short, 6000, 100];
    const lived = lives.map((life) => (life === 'fails' ? 0 : life));
    startedAt.length = 0;
    const leave = join(new ElectionMember('/', {} as EngineSettings));
    await vi.dynamicImportSettled();
    await vi.advanceTimersByTimeAsync(120_000);
    const pauses = startedAt.slice(1).map((at, index) => at - (startedAt[index] ?? 0) - (lived[index] ?? 0));
    expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000, 0, 250]);
    await leave();
  } finally {
    vi.useRealTimers();
  }
});
