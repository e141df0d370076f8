import { beforeEach, expect, test, vi } from 'vitest';

import { type Session, SessionPool } from '../../../../src/worker/runtimes/onnx/session-pool.ts';
import { sleep, virtualTime } from '../../../support/virtual-time.ts';

const RUN_MS = 100;
const START_MS = 1000;

/** Takes 100 ms for a batch; the vector holds the batch's first id. */
class FakeSession implements Session {
  readonly ids: number[] = [];
  running = 0;
  failsOn = -1;
  ended = false;
  interrupted = false;

  async run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]> {
    if (this.ended) throw new Error('ended');
    expect(this.running).toBe(0);
    const id = batch[0]?.[0] ?? 0;
    this.ids.push(id);
    this.running++;
    await sleep(RUN_MS);
    this.running--;
    if (id === this.failsOn) throw new Error('out of memory');
    return batch.map(() => Float32Array.of(id));
  }

  end(): void {
    this.ended = true;
    this.interrupted = this.running > 0;
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);

let first: FakeSession;
/** Those that were opened later. */
let others: FakeSession[];
/** For each that was begun to be opened. */
let signals: AbortSignal[];

virtualTime();

beforeEach(() => {
  [first, others, signals] = [new FakeSession(), [], []];
});

async function open(signal: AbortSignal): Promise<Session> {
  signals.push(signal);
  await sleep(START_MS);
  const session = new FakeSession();
  others.push(session);
  return session;
}

const poolOf = (size: number, options = {}) =>
  new SessionPool(first, { size, replacesFirst: false, open, ...options });

/** As the engine does: never more batches in the pool than it takes at once. */
async function runAll(pool: SessionPool, count: number): Promise<(number | string)[]> {
  const results: (number | string)[] = [];
  let next = 0;
  const lane = async () => {
    for (let id = next++; id < count; id = next++) {
      results[id] = await pool.run([[id]]).then(
        ([vector]) => vector?.[0] ?? -1,
        (error: unknown) => String(error),
      );
    }
  };
  await Promise.all(Array.from({ length: pool.size }, lane));
  return results;
}

test('a short line of batches runs in the first session alone', async () => {
  const pool = poolOf(2);
  expect(await runAll(pool, 10)).toEqual(upTo(10));
  // After a pause the line is a new one.
  await sleep(START_MS);
  expect(await runAll(pool, 10)).toEqual(upTo(10));
  expect(first.ids).toHaveLength(20);
  expect(signals).toEqual([]);
});

test('a long one gets a second session, for which the first does not wait, and each batch its own vectors', async () => {
  const pool = poolOf(2);
  const began = performance.now();
  expect(await runAll(pool, 60)).toEqual(upTo(60));
  expect(others).toHaveLength(1);
  const both = () => [...first.ids, ...(others[0]?.ids ?? [])];
  expect(both().toSorted((a, b) => a - b)).toEqual(upTo(60));
  // The first 2 s alone: 20 batches. The others are shared.
  expect(others[0]?.ids).toHaveLength(20);
  expect(performance.now() - began).toBeLessThan(60 * RUN_MS * 0.7);

  // It stays: both take the next ones at once.
  await runAll(pool, 4);
  expect(others[0]?.ids).toHaveLength(22);
  expect(signals).toHaveLength(1);
});

test('a first session whose threads the others need ends when one is there, after its batch', async () => {
  const pool = poolOf(2, { replacesFirst: true });
  expect(await runAll(pool, 100)).toEqual(upTo(100));
  expect([first.ended, first.interrupted]).toEqual([true, false]);
  expect(others.map(({ ended }) => ended)).toEqual([false, false]);
  expect([first, ...others].flatMap(({ ids }) => ids).toSorted((a, b) => a - b)).toEqual(upTo(100));
  for (const { ids } of others) expect(ids.length).toBeGreaterThan(25);

  // Also when the line has ended meanwhile.
  [first, others] = [new FakeSession(), []];
  const idle = poolOf(2, { replacesFirst: true });
  await runAll(idle, 13);
  await sleep(2 * START_MS);
  expect([first.ended, ...others.map(({ ended }) => ended)]).toEqual([true, false, false]);
  const before = first.ids.length;
  expect(await runAll(idle, 6)).toEqual(upTo(6));
  expect(first.ids).toHaveLength(before);
});

test('a pool of one never opens another', async () => {
  const pool = poolOf(1);
  const line = await Promise.all(upTo(30).map((id) => pool.run([[id]])));
  expect(line.map(([vector]) => vector?.[0])).toEqual(upTo(30));
  expect(signals).toEqual([]);
});

test('a session that does not open costs no batch, and is not tried again', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  const pool = poolOf(2, {
    replacesFirst: true,
    open: async (signal: AbortSignal) => {
      await open(signal);
      throw new Error('out of memory');
    },
  });
  expect(await runAll(pool, 60)).toEqual(upTo(60));
  expect(first.ids).toHaveLength(60);
  expect(signals).toHaveLength(1);
  expect(warn).toHaveBeenCalledOnce();
});

test('a batch that fails fails alone', async () => {
  const pool = poolOf(2);
  first.failsOn = 3;
  const results = await runAll(pool, 40);
  expect(results[3]).toBe('Error: out of memory');
  expect(results.filter((result) => typeof result === 'string')).toHaveLength(1);
});

test('the end ends all sessions, one that is being opened among them', async () => {
  const pool = poolOf(2);
  await runAll(pool, 60);
  pool.end();
  expect([first, ...others].map(({ ended }) => ended)).toEqual([true, true]);
  expect(await runAll(pool, 3)).toEqual(['Error: ended', 'Error: ended', 'Error: ended']);

  [first, others, signals] = [new FakeSession(), [], []];
  const growing = poolOf(2);
  const line = Promise.allSettled(upTo(12).map((id) => growing.run([[id]])));
  await sleep(START_MS);
  const late = Promise.allSettled([growing.run([[12]])]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  growing.end();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect((await line).at(-1)?.status).toBe('rejected');
  expect((await late)[0]?.status).toBe('rejected');
  await sleep(START_MS);
  expect([first, ...others].map(({ ended }) => ended)).toEqual([true, true]);
});
