import { expect, test } from 'vitest';

import { ReplyScheduler } from '../../../src/llama/reply-scheduler.ts';
import { BARE } from '../../../src/llama/internals/prompt-slots.ts';
import type { Chunk } from '../../../src/llama/chunk.ts';
import { RequestRejectedError, type ServerCalls } from '../../../src/llama/internals/server-calls.ts';
import { FakeLlamaServer } from '../../support/llama-calls/fake-llama-server.ts';
import { sleep, virtualTime } from '../../support/virtual-time.ts';
import { never } from '../../support/never.ts';

virtualTime();

const scheduled = (server: ServerCalls, slots: number, bare: '' | typeof BARE | null): ReplyScheduler =>
  new ReplyScheduler(server, { slots, bare, context: 100 });

/** A scheduler of four slots over a fake server. */
function setUp(bare: '' | typeof BARE | null = '') {
  const fake = new FakeLlamaServer();
  return { fake, server: scheduled(fake, 4, bare) };
}

const ask = (length: number, tokens: number) => ({ prompt: 'x'.repeat(length), n_predict: tokens });

/** Calls back for each token: the last chunk of a reply has none. */
const tokens =
  (onToken: () => unknown) =>
  ({ choices }: Chunk): void => {
    if (choices?.[0]?.text) onToken();
  };

/** Runs a reply, and calls back for each of its tokens. */
const runReply = (
  server: ReplyScheduler,
  fields: Record<string, unknown>,
  onToken: () => unknown,
  signal = never,
): Promise<void> => server.run(fields, tokens(onToken), signal);

/** Three replies at once. @returns whose each token was */
async function runThree(server: FakeLlamaServer, count: number): Promise<string[]> {
  const replies = scheduled(server, 4, '');
  const order: string[] = [];
  await Promise.all(['a', 'b', 'c'].map((id) => runReply(replies, ask(100, count), () => order.push(id))));
  return order;
}

test('replies that run together have a token each of every step', async () => {
  const order = await runThree(new FakeLlamaServer(), 20);
  expect(order).toHaveLength(60);
  for (let step = 0; step < 20; step++)
    expect(order.slice(3 * step, 3 * step + 3).toSorted()).toEqual(['a', 'b', 'c']);
});

test('the server has the next step before the results of a step are read, and no further one', async () => {
  const fake = new FakeLlamaServer();
  const step = fake.step.bind(fake);
  let steps = 0;
  fake.step = (id) => {
    steps++;
    return step(id);
  };
  const server = scheduled(fake, 4, null);
  const ahead: number[] = [];
  let read = 0;
  await runReply(server, ask(100, 9), () => ahead.push(steps - ++read));
  // The first step computes the prompt, too, and all its results are read before another.
  expect(ahead).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 1]);
});

test('no result of a step requested ahead is lost or late when another reply begins or ends', async () => {
  const server = scheduled(new FakeLlamaServer(), 4, '');
  const order: string[] = [];
  const run = (name: string, count: number) =>
    server.run(
      { ...ask(100, count), prompt: name },
      ({ choices }) => order.push(name + (choices?.[0]?.text ? '' : ' ends')),
      never,
    );
  const long = run('a', 20);
  while (order.length < 5) await Promise.resolve();
  await run('b', 3);
  await long;
  expect(order.filter((each) => each === 'a')).toHaveLength(20);
  expect(order.filter((each) => each === 'b')).toHaveLength(3);
  // Both have a token of each step.
  const first = order.indexOf('b');
  expect(order.slice(first, order.indexOf('b ends')).filter((each) => each === 'a').length).toBeLessThan(6);
});

/** Runs replies on a server that drafts. @returns for each step whether it drafted, and how many tokens each reply had by then */
async function runDrafting(replies: Record<string, unknown>[]) {
  const steps: [drafts: boolean, ...tokens: number[]][] = [];
  const counts = replies.map(() => 0);
  const fake = new FakeLlamaServer();
  const step = fake.step.bind(fake);
  fake.step = (id, drafts = false) => {
    steps.push([drafts, ...counts]);
    return step(id, drafts);
  };
  const server = new ReplyScheduler(fake, { slots: 4, bare: null, drafts: true, context: 100 });
  await Promise.all(
    replies.map((fields, at) => runReply(server, fields, () => (counts[at] = (counts[at] ?? 0) + 1))),
  );
  return { steps, counts };
}

test('a reply that runs alone drafts tokens, and loses none of those that were right', async () => {
  const { steps, counts } = await runDrafting([ask(10, 9)]);
  // Each but the first is requested before the results of the one before are read.
  expect(steps).toEqual([
    [false, 0],
    [true, 1],
    [true, 1],
    [true, 2],
    [true, 6],
  ]);
  expect(counts).toEqual([9]);
});

test('no tokens are drafted beside another reply, nor where log probabilities are asked for', async () => {
  const together = await runDrafting([ask(10, 9), ask(10, 9)]);
  expect(together.steps.filter(([drafts]) => drafts)).toEqual([]);
  expect(together.counts).toEqual([9, 9]);
  const { steps, counts } = await runDrafting([{ ...ask(10, 9), n_probs: 1 }]);
  expect(steps.filter(([drafts]) => drafts)).toEqual([]);
  expect(counts).toEqual([9]);
});

test('where no result can be taken, replies that run together come one after another', async () => {
  const fake = new FakeLlamaServer();
  fake.take = async () => null;
  expect(await runThree(fake, 2)).toEqual(['a', 'a', 'b', 'b', 'c', 'c']);
});

test('a reply whose refusal waits behind the step of another one fails alone', async () => {
  const fake = new FakeLlamaServer();
  const take = fake.take.bind(fake);
  fake.take = async (id) => {
    if (id === 2) throw new RequestRejectedError('too long', 1000, 10);
    return take(id);
  };
  const server = scheduled(fake, 4, null);
  let count = 0;
  const good = runReply(server, ask(100, 9), () => count++);
  await expect(server.run(ask(100, 9), () => undefined, never)).rejects.toThrow('too long');
  await good;
  expect(count).toBe(9);
});

test.each([
  ['another beginning', { prompt: 'y'.repeat(100), n_predict: 1 }],
  ['the same beginning', ask(300, 1)],
])('puts a long prompt aside for a short one with %s, and comes back to it', async (_, asked) => {
  const { fake, server } = setUp();
  const order: string[] = [];
  const long = runReply(server, ask(5000, 1), () => order.push('long'));
  while (fake.log.length === 0) await Promise.resolve();
  const short = runReply(server, asked, () => order.push('short'));
  await Promise.all([long, short]);
  expect(order).toEqual(['short', 'long']);
  expect(fake.log.slice(0, 2)).toEqual(['begin 5000', 'cancel 1']);
});

/** Computes the prompt of the lowest slot first, as llama.cpp does: short ones get nothing of a step beside the long one. */
class CrowdedLlamaServer extends FakeLlamaServer {
  override crowded = true;
  stepMs = 100;

  override async step(id: number) {
    await sleep(this.stepMs);
    return super.step(id);
  }
}

const BESIDE: { name: string; bare: '' | null; ask(server: ReplyScheduler, at: number): Promise<unknown> }[] =
  [
    {
      name: 'short prompts, where no states are copied',
      bare: null,
      ask: (server, at) => server.run({ prompt: `y${at}`, n_predict: 1 }, () => undefined, never),
    },
    { name: 'counts', bare: '', ask: (server) => server.count('z'.repeat(30), '<eos>', never) },
  ];

test.each(BESIDE)(
  'a long prompt takes turns with $name: neither waits for all of the other',
  async ({ bare, ask: next }) => {
    const server = scheduled(new CrowdedLlamaServer(), 4, bare);
    const began = performance.now();
    const long = server.run(ask(50_000, 1), () => undefined, never).then(() => performance.now() - began);
    const waits: number[] = [];
    while (waits.length < 20) {
      await sleep(1000);
      const asked = performance.now();
      await next(server, waits.length);
      waits.push(performance.now() - asked);
    }
    // 500 steps of 100 ms each.
    expect(await long).toBeLessThan(80_000);
    expect(Math.max(...waits)).toBeLessThan(4000);
  },
);

test('no copy of a state waits for a prompt that is being computed', async () => {
  const server = scheduled(new CrowdedLlamaServer(), 4, '');
  const run = (prompt: string) => server.run({ prompt, n_predict: 1 }, () => undefined, never);
  const first = 'y'.repeat(20_000) + 'a'.repeat(10_000);
  await run(first);
  // Its state is in a slot alone, for it is not worth computing ahead.
  await run(first + 'a'.repeat(300));
  const long = run('x'.repeat(50_000));
  await sleep(1000);
  const other = run('y'.repeat(20_000) + 'b'.repeat(10_000));
  await sleep(1000);
  const asked = performance.now();
  await run('z');
  expect(performance.now() - asked).toBeLessThan(4000);
  await Promise.all([long, other]);
});

test('computes a long prompt once, and hands its state on from each that begins alike to the next', async () => {
  const { fake, server } = setUp();
  const order: string[] = [];
  const prompts = ['a', 'b', 'c'].map((name) => ({ name, prompt: 'x'.repeat(1000) + name, n_predict: 2 }));
  await Promise.all(prompts.map(({ name, ...fields }) => runReply(server, fields, () => order.push(name))));
  const begins = fake.log.map((line) => (line === 'begin 0' ? 'copy' : line));
  // Ahead, then all idle slots are saved, then the reply itself; the last one finds a state, and nobody waits for its own.
  const copies = ['copy', 'copy', 'copy', 'copy'];
  // The server would give an empty prompt an empty slot, and save nothing.
  const fills = ['begin 1', 'begin 1', 'begin 1'];
  const first = ['begin 1001', ...fills, ...copies, 'begin 1001'];
  const second = ['begin 1001', ...copies, 'begin 1001'];
  expect(begins).toEqual([...first, ...second, 'begin 1001']);
  expect(order.toSorted()).toEqual(['a', 'a', 'b', 'b', 'c', 'c']);
});

test('copies states by texts that have no token before them, where the tokenizer would put one', async () => {
  const { fake, server } = setUp(BARE);
  await server.run(ask(1000, 1), () => undefined, never);
  const [fill, copy] = [`begin ${BARE.length + 1}`, `begin ${BARE.length}`];
  expect(fake.log).toEqual(['begin 1000', fill, fill, fill, copy, copy, copy, copy, 'begin 1000']);
});

test('a much longer prompt does not slow a reply that has just begun, for five seconds at most', async () => {
  const server = new CrowdedLlamaServer();
  const scheduler = scheduled(server, 4, null);
  const beginsOfLong = (): number => server.log.filter((line) => line === 'begin 5000').length;
  const long = scheduler.run(ask(5000, 1), () => undefined, never);
  await sleep(150);
  await scheduler.run(ask(4, 16), () => undefined, never);
  expect(beginsOfLong()).toBe(1);
  // One after another, so that there is always one that has just begun.
  const others = [0, 500].map(async (at) => {
    await sleep(at);
    for (let count = 0; count < 8; count++) await scheduler.run(ask(4, 9), () => undefined, never);
  });
  await sleep(5500);
  expect(beginsOfLong()).toBeGreaterThan(1);
  await Promise.all([long, ...others]);
});

test('a prompt that was put aside before it was whole waits for the reply that it was put aside for', async () => {
  const server = new CrowdedLlamaServer();
  server.stepMs = 20;
  const scheduler = scheduled(server, 4, '');
  const long = scheduler.run({ prompt: 'y'.repeat(9000), n_predict: 1 }, () => undefined, never);
  await sleep(150);
  await scheduler.run(ask(30, 20), () => undefined, never);
  expect(server.log.filter((line) => line === 'begin 9000')).toHaveLength(1);
  await long;
});

test('prompts that begin alike do not wait for the first of them, whose state they get', async () => {
  const server = new CrowdedLlamaServer();
  server.stepMs = 10;
  const scheduler = scheduled(server, 4, '');
  const asked = performance.now();
  await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      scheduler.run({ prompt: 'x'.repeat(600) + name, n_predict: 24 }, () => undefined, never),
    ),
  );
  expect(performance.now() - asked).toBeLessThan(1000);
});

test('copies nothing where no prompt can be empty, as where a text may hold images and begins with a token', async () => {
  const { fake, server } = setUp(null);
  await Promise.all([1, 2].map(() => server.run(ask(1000, 2), () => undefined, never)));
  expect(fake.log).toEqual(['begin 1000', 'begin 1000']);
});

test('says what was found in the cache when the prompt was computed, not what was found after', async () => {
  const fake = new FakeLlamaServer();
  const timings = { prompt_ms: 5, predicted_n: 1, predicted_ms: 1 };
  fake.timings = (begun) =>
    begun === 1 ? { ...timings, cache_n: 10, prompt_n: 90 } : { ...timings, cache_n: 99, prompt_n: 1 };
  const server = scheduled(fake, 4, '');
  const chunks: unknown[] = [];
  await server.run(ask(1000, 1), ({ timings: each }) => chunks.push(each), never);
  expect(chunks[0]).toEqual({ ...timings, cache_n: 10, prompt_n: 90, prompt_ms: 10 });
});

test('a prompt that is refused when computed ahead fails its reply, once', async () => {
  const fake = new FakeLlamaServer();
  fake.step = async () => {
    throw new RequestRejectedError('too long', 1000, 10);
  };
  const server = scheduled(fake, 4, '');
  await expect(server.run(ask(1000, 1), () => undefined, never)).rejects.toThrow('too long');
  expect(fake.log).toEqual(['begin 1000']);
});

test('a reply is accepted with its first step, long before its first token, and a refused one never', async () => {
  const { fake, server } = setUp(null);
  const order: string[] = [];
  const accept = () => order.push('accepted');
  const long = server.run(
    ask(2000, 1),
    tokens(() => order.push('token')),
    never,
    accept,
  );
  await expect.poll(() => order).toContain('accepted');
  await long;
  expect(order).toEqual(['accepted', 'token']);
  fake.step = async () => {
    throw new RequestRejectedError('too long', 1000, 10);
  };
  await expect(server.run(ask(1000, 1), () => undefined, never, accept)).rejects.toThrow('too long');
  expect(order).toEqual(['accepted', 'token']);
});

const withGrammar = { grammar: 'root ::= "a"' };

test.each([
  ['of a short prompt', ask(20, 0), true, ['begin', 'accepted']],
  ['of a grammar', { ...ask(20, 0), ...withGrammar }, true, ['begin grammar', 'step', 'accepted']],
  ['of characters that the vocabulary may lack', ask(20, 0), false, ['begin', 'step', 'accepted']],
  [
    'of a grammar after a prompt computed ahead',
    { ...ask(1000, 0), ...withGrammar },
    true,
    ['begin grammar', 'step', 'accepted'],
  ],
])('a reply is accepted once the server cannot refuse it: %s', async (_, fields, encodesAll, expected) => {
  const fake = new FakeLlamaServer();
  const order: string[] = [];
  const [begin, step] = [fake.begin.bind(fake), fake.step.bind(fake)];
  fake.begin = (begun) => {
    order.push('grammar' in begun ? 'begin grammar' : 'begin');
    return begin(begun);
  };
  fake.step = (id) => {
    order.push('step');
    return step(id);
  };
  const server = new ReplyScheduler(fake, { slots: 4, bare: '', context: 100, encodesAll });
  await server.run(
    fields,
    () => undefined,
    never,
    () => order.push('accepted'),
  );
  const until = order.slice(0, order.indexOf('accepted') + 1);
  expect(until.slice(until.findLastIndex((each) => each.startsWith('begin')))).toEqual(expected);
});

test('a reply beside another one is accepted with the first step of both', async () => {
  const server = scheduled(new FakeLlamaServer(), 4, null);
  const order: string[] = [];
  let later: Promise<void> | undefined;
  const beginLater = (): Promise<void> =>
    server.run(
      ask(250, 1),
      tokens(() => order.push('token')),
      never,
      () => order.push('accepted'),
    );
  await runReply(server, ask(100, 9), () => {
    order.push('beside');
    later ??= beginLater();
  });
  await later;
  expect(order.slice(1, 6).toSorted()).toEqual(['accepted', 'beside', 'beside', 'beside', 'token']);
  expect(order.indexOf('accepted')).toBeLessThan(3);
});

test('an abort frees the slot before it rejects, and leaves the others alone', async () => {
  const { fake, server } = setUp();
  const abort = new AbortController();
  const leaving = runReply(server, ask(100, 1000), () => abort.abort(new Error('gone')), abort.signal);
  let count = 0;
  const staying = runReply(server, ask(100, 20), () => count++);
  await expect(leaving).rejects.toThrow('gone');
  expect(fake.log).toContain('cancel 1');
  await staying;
  expect(count).toBe(20);
});

test('a refused request fails alone; a dead server fails all', async () => {
  const { fake, server } = setUp();
  const good = server.run(ask(100, 2), () => undefined, never);
  await expect(server.run({ prompt: 'bad' }, () => undefined, never)).rejects.toBeInstanceOf(
    RequestRejectedError,
  );
  await good;
  const first = runReply(server, ask(100, 9), () => (fake.dead = true));
  const second = runReply(server, ask(100, 9), () => (fake.dead = true));
  await expect(first).rejects.toThrow('out of bounds');
  await expect(second).rejects.toThrow('out of bounds');
});

test('what runs when the server is stopped fails, though its call never settles', async () => {
  const fake = new FakeLlamaServer();
  fake.step = () => new Promise(() => undefined);
  const server = scheduled(fake, 4, '');
  const running = server.run(ask(100, 1), () => undefined, never);
  await sleep(0);
  server.stop(new Error('unloaded'));
  await expect(running).rejects.toThrow('unloaded');
});

test.each([0, 1, 2])('after %s replies, what comes once the server is stopped fails', async (count) => {
  const fake = new FakeLlamaServer();
  fake.step = () => new Promise(() => undefined);
  const server = scheduled(fake, 4, '');
  const another = () => server.run(ask(100, 1), () => undefined, never);
  const before = Array.from({ length: count }, () => expect(another()).rejects.toThrow('unloaded'));
  await sleep(0);
  server.stop(new Error('unloaded'));
  const calls = fake.log.length;
  await Promise.all([...before, expect(another()).rejects.toThrow('unloaded')]);
  await expect(server.count('x', '<eos>', never)).rejects.toThrow('unloaded');
  expect(fake.log).toHaveLength(calls);
});

test('a prompt is counted beside replies, which lose nothing', async () => {
  const server = new FakeLlamaServer();
  const scheduler = scheduled(server, 4, '');
  let given = 0;
  const running = runReply(scheduler, ask(100, 10), () => given++);
  expect(await scheduler.count('x'.repeat(30), '<eos>', never)).toBe(30);
  await running;
  expect(given).toBe(10);
});

test('a count waits for a slot, and a short prompt does not wait with it', async () => {
  const server = new FakeLlamaServer();
  server.slots = 1;
  const scheduler = scheduled(server, 1, null);
  const order: string[] = [];
  const run = async (name: string, length: number): Promise<void> => {
    await scheduler.run(ask(length, 1), () => undefined, never);
    order.push(name);
  };
  const long = run('long', 5000);
  while (server.log.length === 0) await Promise.resolve();
  const counting = scheduler.count('x'.repeat(30), '<eos>', never).then((found) => order.push(`${found}`));
  const short = run('short', 100);
  await Promise.all([long, counting, short]);
  expect(order).toHaveLength(3);
  expect(order).toContain('30');
  expect(order.at(-1)).toBe('long');
});

/** A stream with counts in a row beside it. */
async function streamBesideCounts(): Promise<{
  order: string[];
  counting: Promise<unknown>;
  stop: () => void;
  stream: Promise<void>;
}> {
  const scheduler = scheduled(new FakeLlamaServer(), 4, '');
  const order: string[] = [];
  const stopped = new AbortController();
  const stream = runReply(scheduler, ask(100, 1000), () => order.push('token'), stopped.signal);
  while (order.length === 0) await Promise.resolve();
  const counts = Array.from({ length: 20 }, () => scheduler.count('x'.repeat(30), '<eos>', never));
  const counting = Promise.all(counts.map((count) => count.then(() => order.push('count'))));
  return { order, counting, stream, stop: () => stopped.abort(new Error('stopped')) };
}

test('a reply has a step between counts in a row, and an abort does not wait for them', async () => {
  const { order, counting, stream, stop } = await streamBesideCounts();
  while (order.filter((each) => each === 'count').length < 10) await Promise.resolve();
  expect(order.filter((each) => each === 'token').length).toBeGreaterThan(10);
  stop();
  await expect(stream).rejects.toThrow('stopped');
  expect(order.filter((each) => each === 'count').length).toBeLessThan(13);
  await counting;
});

test('a prompt does not wait for counts in a row', async () => {
  const scheduler = scheduled(new FakeLlamaServer(), 4, '');
  const order: string[] = [];
  const counts = Array.from({ length: 20 }, () =>
    scheduler.count('x'.repeat(30), '<eos>', never).then(() => order.push('count')),
  );
  const short = scheduler.run(ask(30, 1), () => undefined, never).then(() => order.push('short'));
  await Promise.all([...counts, short]);
  expect(order.indexOf('short')).toBeLessThan(6);
});

test('a count of an aborted request costs nothing', async () => {
  const server = new FakeLlamaServer();
  const given = AbortSignal.abort(new Error('gone'));
  await expect(scheduled(server, 4, '').count('x', '<eos>', given)).rejects.toThrow('gone');
  expect(server.log).toEqual([]);
});

test('a shorter prompt does not wait for a long one that has just begun to answer', async () => {
  const scheduler = scheduled(new FakeLlamaServer(), 4, '');
  const order: string[] = [];
  const long = runReply(scheduler, ask(4000, 100), () => order.push('long'));
  while (order.length === 0) await Promise.resolve();
  const short = runReply(scheduler, { prompt: 'y'.repeat(300), n_predict: 1 }, () => order.push('short'));
  await Promise.all([long, short]);
  expect(order.indexOf('short')).toBeLessThan(20);
});

test('a count fails with the server', async () => {
  const server = new FakeLlamaServer();
  server.dead = true;
  await expect(scheduled(server, 4, '').count('x', '<eos>', never)).rejects.toThrow('memory access');
});

test.each(['step', 'take', 'begin', 'cancel'] as const)(
  'a server that dies in a call of %s fails all replies that run or wait, and the next is tried',
  async (call) => {
    const { fake, server } = setUp();
    const abort = new AbortController();
    const dead = new Error('memory access out of bounds');
    const fails = (signal = never) =>
      expect(server.run(ask(150, 1000), () => undefined, signal)).rejects.toBe(dead);
    const running = [fails(), fails(), fails(abort.signal)];
    while (fake.log.length < 3) await Promise.resolve();
    const alive = fake[call];
    Object.assign(fake, { [call]: () => Promise.reject(dead) });
    const counting = server.count('x', '<eos>', never).catch(() => undefined);
    if (call === 'cancel') abort.abort(new Error('gone'));
    await Promise.all([...running, fails(), counting]);
    Object.assign(fake, { [call]: alive });
    await server.run(ask(100, 1), () => undefined, never);
  },
);
