import { beforeEach, describe, expect, test, vi } from 'vitest';

import { chooseBatch } from '../../../../src/engines/transformers/embedding-batches.ts';
import {
  type Embedder,
  transformersEngine,
} from '../../../../src/engines/transformers/transformers-engine.ts';
import { createDeferred } from '../../../../src/base/async.ts';
import { lastOf } from '../../../support/last-of.ts';
import type { EmbeddingJob } from '../../../../src/jobs/embedding.ts';
import type { Engine } from '../../../../src/engine-kit/index.ts';
import { never } from '../../../support/never.ts';

const job = (...texts: string[]): EmbeddingJob => ({ kind: 'embedding', model: 'm', input: { texts } });

/** A token a word; the vector tells the text's length and first letter, so that a mix-up shows. */
class FakeEmbedder implements Embedder {
  readonly tokenizer = this;
  readonly batches: number[][] = [];
  fails = false;
  /** Batches under way, and the most that were. */
  running = 0;
  most = 0;

  async tokenize(texts: readonly string[]): Promise<number[][]> {
    return texts.map((text) => text.split(' ').map((word) => word.charCodeAt(0)));
  }

  wrap(ids: readonly number[]): number[] | null {
    return ids.every((id) => id < 1000) ? [...ids] : null;
  }

  async run(batch: readonly (readonly number[])[]): Promise<Float32Array<ArrayBuffer>[]> {
    this.batches.push(batch.map(({ length }) => length));
    this.running++;
    this.most = Math.max(this.most, this.running);
    // Longer texts take longer: batches end in another order than they began.
    await new Promise((resolve) => setTimeout(resolve, batch[0]?.length));
    this.running--;
    if (this.fails) throw new Error('out of memory');
    return batch.map((ids) => Float32Array.of(ids.length, ids[0] ?? 0));
  }

  dispose(): void {}
}

function setUp(traits: object = {}, embedder = new FakeEmbedder()) {
  const engine = transformersEngine(embedder, { contextLength: 40, dimensions: 2, ...traits }, 'fake');
  return { embedder, engine };
}

test('requests that come together share batches, and each gets its own vectors in order', async () => {
  const { embedder, engine } = setUp();
  const [first, second] = await Promise.all([
    lastOf(engine.run(job('a b c', 'd', 'e e'), never)),
    lastOf(engine.run(job('f', 'g h i'), never)),
  ]);
  expect(first.vectors.map(String)).toEqual(['3,97', '1,100', '2,101']);
  expect(second.vectors.map(String)).toEqual(['1,102', '3,103']);
  expect([first.promptTokens, second.promptTokens]).toEqual([6, 4]);
  expect(embedder.batches).toHaveLength(1);
});

test('a model whose texts would change each other gets them one by one', async () => {
  const { embedder, engine } = setUp({ maxBatchSize: 1 });
  const [{ vectors }] = await Promise.all([
    lastOf(engine.run(job('a b c', 'd', 'e e'), never)),
    lastOf(engine.run(job('f'), never)),
  ]);
  expect(vectors.map(String)).toEqual(['3,97', '1,100', '2,101']);
  expect(embedder.batches.toSorted()).toEqual([[1], [1], [2], [3]]);
});

test('runs one batch at a time; vectors come in order, and an end waits for the batch under way', async () => {
  const { embedder, engine } = setUp({ maxBatchSize: 1 });
  const texts = Array.from({ length: 9 }, (_, at) => 'x '.repeat(9 - at) + 'x');
  const { vectors } = await lastOf(engine.run(job(...texts), never));
  expect(vectors.map(([length]) => length)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2]);
  expect(embedder.most).toBe(1);

  const long = lastOf(engine.run(job('x '.repeat(30)), never));
  await expect.poll(() => embedder.running, { interval: 1 }).toBe(1);

  let runningAtEnd = -1;
  embedder.dispose = () => {
    runningAtEnd = embedder.running;
  };
  await engine.unload();
  expect(runningAtEnd).toBe(0);
  await long;
});

test('answers requests that follow each other without a pause', async () => {
  const { engine } = setUp();
  for (let i = 0; i < 20; i++) await lastOf(engine.run(job('a'), never));
});

test('a small request does not wait for all of a large one', async () => {
  const { engine } = setUp();
  const order: string[] = [];
  const texts = Array.from({ length: 100 }, () => Array.from({ length: 40 }, () => 'x').join(' '));
  const large = lastOf(engine.run(job(...texts), never)).then(() => order.push('large'));
  await new Promise((resolve) => setTimeout(resolve, 3));
  await lastOf(engine.run(job('y'), never)).then(() => order.push('small'));
  await large;
  expect(order).toEqual(['small', 'large']);
});

test('where many requests wait, a long text is a batch, and a new request is the next but one at most', async () => {
  const { embedder, engine } = setUp();
  const texts = [40, 39, 40].map((words) => Array.from({ length: words }, () => 'a').join(' '));
  const others = Array.from({ length: 8 }, () => lastOf(engine.run(job(...texts), never)));
  await expect.poll(() => embedder.batches.length).toBeGreaterThan(2);
  const before = embedder.batches.length;
  await lastOf(engine.run(job('y'), never));
  const since = embedder.batches.slice(before);
  expect(since.length).toBeLessThanOrEqual(3);
  expect(since.filter(({ length }) => length > 1)).toEqual([]);
  for (const { vectors } of await Promise.all(others))
    expect(vectors.map(([length]) => length)).toEqual([40, 39, 40]);
});

test('where many requests wait, texts of one go into a batch together, whatever their lengths', async () => {
  const { embedder, engine } = setUp();
  const texts = Array.from({ length: 300 }, () => 'a');
  const others = Array.from({ length: 8 }, () => lastOf(engine.run(job(...texts), never)));
  await expect.poll(() => embedder.batches.length, { interval: 1 }).toBeGreaterThan(2);
  const before = embedder.batches.length;
  await lastOf(engine.run(job('y', 'y y y y'), never));
  expect(embedder.batches.length - before).toBeLessThan(4);
  await Promise.all(others);
});

test('a new request overtakes those that are tokenized after it, too', async () => {
  const embedder = new FakeEmbedder();
  const { tokenize } = embedder;
  let tokenized = 0;
  embedder.tokenize = async (texts) => {
    tokenized++;
    await new Promise((resolve) => setTimeout(resolve, 4));
    return tokenize.call(embedder, texts);
  };
  const traits = { contextLength: 40, dimensions: 2, maxBatchSize: 1 };
  const engine = transformersEngine(embedder, traits, 'fake');
  const abandon = new AbortController();
  const text = Array.from({ length: 40 }, () => 'a').join(' ');
  const others = Array.from({ length: 60 }, () =>
    lastOf(engine.run(job(text), abandon.signal)).catch(() => undefined),
  );
  await expect.poll(() => tokenized, { interval: 1 }).toBeGreaterThan(30);
  const before = embedder.batches.length;
  await lastOf(engine.run(job('y'), never));
  expect(embedder.batches.length - before).toBeLessThan(8);
  abandon.abort(new Error('gone'));
  await Promise.all(others);
});

test('an abort rejects at once and drops what was waiting; the next request is answered', async () => {
  const { embedder, engine } = setUp();
  const abort = new AbortController();
  const texts = Array.from({ length: 100 }, () => Array.from({ length: 40 }, () => 'x').join(' '));
  const leaving = lastOf(engine.run(job(...texts), abort.signal));
  await new Promise((resolve) => setTimeout(resolve, 3));
  abort.abort(new Error('gone'));
  await expect(leaving).rejects.toThrow('gone');
  const batches = embedder.batches.length;
  await lastOf(engine.run(job('y'), never));
  expect(embedder.batches.length).toBeLessThanOrEqual(batches + 1);
});

test('a declared prefix is added to each text of its task, and to no other', async () => {
  const prefixes = { query: 'find this ', document: 'kept ' };
  const { engine } = setUp({ prefixes });
  const vectorOf = async (more: Partial<EmbeddingJob>) => {
    const { vectors, promptTokens } = await lastOf(engine.run({ ...job('a b'), ...more }, never));
    return [[...(vectors[0] ?? [])], promptTokens];
  };
  expect(await vectorOf({})).toEqual([[2, 97], 2]);
  expect(await vectorOf({ inputType: 'query' })).toEqual([[4, 102], 4]);
  expect(await vectorOf({ inputType: 'document' })).toEqual([[3, 107], 3]);
  await expect(vectorOf({ inputType: 'passage' })).rejects.toMatchObject({ wire: { param: 'input_type' } });
  const tokens = { input: { tokens: [Float64Array.of(1)] }, inputType: 'query' };
  await expect(vectorOf(tokens)).rejects.toMatchObject({ wire: { param: 'input' } });
  const plain = await lastOf(setUp().engine.run({ ...job('a b'), inputType: 'query' }, never));
  expect(plain.promptTokens).toBe(2);
});

test('vectors are shortened as far as the model was trained for it, to length 1', async () => {
  const { engine } = setUp({ minDimensions: 1 });
  const { vectors } = await lastOf(engine.run({ ...job('a b c'), dimensions: 1 }, never));
  expect(vectors.map((vector) => [...vector])).toEqual([[1]]);
});

test('names the input that is too long or holds no token, and the dimensions it has, before it computes', async () => {
  const { embedder, engine } = setUp();
  const refuses = (asked: EmbeddingJob, wire: object) =>
    expect(lastOf(engine.run(asked, never, expect.unreachable))).rejects.toMatchObject({ wire });
  const long = Array.from({ length: 41 }, () => 'x').join(' ');
  await refuses(job('ok', long), { status: 400, param: 'input[1]', code: 'context_length_exceeded' });
  const tokens = [Float64Array.of(1), Float64Array.of(5000)];
  await refuses({ kind: 'embedding', model: 'm', input: { tokens } }, { param: 'input[1]' });
  await refuses({ ...job('a'), dimensions: 1 }, { param: 'dimensions' });
  embedder.tokenize = async (texts) => texts.map((text) => (text === 'none' ? [] : [1]));
  await refuses(job('ok', 'none'), { status: 400, param: 'input[1]', code: 'invalid_value' });
});

test('a batch that breaks the model fails its requests as a crash', async () => {
  const { embedder, engine } = setUp();
  embedder.fails = true;
  await expect(lastOf(engine.run(job('a'), never))).rejects.toMatchObject({ code: 'engine_crashed' });
});

test.each([
  ['NaN', [Number.NaN, 1], 'or only zeros'],
  ['an infinite number', [Infinity, 0], 'or only zeros'],
  ['zeros alone', [0, 0], 'or only zeros'],
  ['too few numbers', [1], 'but of 1: correct `dimensions`'],
  ['too many numbers', [1, 0, 0], 'but of 3: correct `dimensions`'],
])('a graph that gives %s fails that request, and the model stays', async (_, vector, cause) => {
  const embedder = new FakeEmbedder();
  const { run } = embedder;
  embedder.run = async (batch) => batch.map(() => Float32Array.from(vector));
  const { engine } = setUp({}, embedder);
  await expect(lastOf(engine.run(job('a'), never))).rejects.toMatchObject({
    wire: {
      code: 'engine_failed',
      message: expect.stringContaining(`a vector of 2 finite numbers, ${cause}`) as string,
    },
  });
  embedder.run = run;
  await lastOf(engine.run(job('a'), never));
});

async function asking(engine: Engine<'embedding'>, signal: AbortSignal): Promise<unknown> {
  const asked = lastOf(engine.run(job('a'), signal)).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1);
  return asked;
}

describe('a graph that never ends', () => {
  beforeEach(() => void vi.useFakeTimers());

  class EndlessEmbedder extends FakeEmbedder {
    #end: ((reason: Error) => void) | null = null;
    ended = false;

    override run(): Promise<never> {
      if (this.ended) return Promise.reject(new Error('the model was unloaded'));
      return new Promise((_, reject) => (this.#end = reject));
    }

    override dispose(): void {
      this.ended = true;
      this.#end?.(new Error('the model was unloaded'));
    }
  }

  test('goes on for those that wait, and half a minute for nobody; the next request reloads the model', async () => {
    const embedder = new EndlessEmbedder();
    const { engine } = setUp({}, embedder);
    const abort = new AbortController();
    const first = asking(engine, abort.signal);
    await vi.advanceTimersByTimeAsync(100_000);
    abort.abort(new Error('gone'));
    expect(await first).toMatchObject({ message: 'gone' });
    await vi.advanceTimersByTimeAsync(29_000);
    expect(embedder.ended).toBe(false);
    const next = asking(engine, never);
    await vi.advanceTimersByTimeAsync(2000);
    expect(embedder.ended).toBe(true);
    expect(await next).toMatchObject({ code: 'engine_crashed' });
  });

  test('does not keep a model from being unloaded', async () => {
    const embedder = new EndlessEmbedder();
    const { engine } = setUp({}, embedder);
    void asking(engine, never);
    await vi.advanceTimersByTimeAsync(10);
    const unloaded = engine.unload();
    await vi.advanceTimersByTimeAsync(30_000);
    await unloaded;
    expect(embedder.ended).toBe(true);
  });
});

test('a batch is filled with the texts nearest in length, within its limit', () => {
  const waiting = [300, 10, 290, 12, 200, 11].map((length) => ({ ids: Array.from({ length }, () => 1) }));
  const [, seed] = waiting;
  if (!seed) throw new Error('no seed');
  const batch = chooseBatch(seed, waiting, { tokens: 60, sequences: Infinity });
  expect(batch.map(({ ids }) => ids.length)).toEqual([10, 11, 12]);
});

test('a batch on a GPU holds 2,048 tokens, as its launches cost more than padding', async () => {
  const longest = async (backend?: 'wasm' | 'webgpu'): Promise<number> => {
    const { embedder, engine } = setUp({ ...(backend && { backend }) });
    const text = Array.from({ length: 32 }, () => 'a').join(' ');
    await lastOf(engine.run(job(...Array.from({ length: 80 }, () => text)), never));
    return Math.max(...embedder.batches.map(({ length }) => length));
  };
  expect(await longest()).toBe(16);
  expect(await longest('wasm')).toBe(16);
  expect(await longest('webgpu')).toBe(64);
});

test('for a while after a request was given up batches are small, so that the next one waits for little', async () => {
  const { embedder, engine } = setUp();
  const text = Array.from({ length: 32 }, () => 'a').join(' ');
  const texts = Array.from({ length: 32 }, () => text);
  const longest = async (): Promise<number> => {
    embedder.batches.length = 0;
    await lastOf(engine.run(job(...texts), never));
    return Math.max(...embedder.batches.map(({ length }) => length));
  };
  expect(await longest()).toBe(16);
  const abort = new AbortController();
  const given = lastOf(engine.run(job(...texts), abort.signal));
  abort.abort();
  await expect(given).rejects.toThrow();
  expect(await longest()).toBe(2);
  const now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now + 5000);
  expect(await longest()).toBe(16);
});

test('a text that is far too long is not tokenized, and a text that is too long is named with its tokens', async () => {
  const { embedder, engine } = setUp();
  const { tokenize } = embedder;
  const turns: number[] = [];
  embedder.tokenize = async (texts) => {
    turns.push(texts.length);
    const tokens = await tokenize.call(embedder, texts);
    return tokens.map((ids) => (ids.length > 40 ? ids.length : ids)) as number[][];
  };
  await expect(lastOf(engine.run(job('a '.repeat(4000)), never))).rejects.toMatchObject({
    wire: { code: 'context_length_exceeded', param: 'input[0]' },
  });
  expect(turns).toEqual([]);

  const texts = Array.from({ length: 1000 }, () => 'a b c d e f g h');
  await lastOf(engine.run(job(...texts), never));
  expect(turns).toEqual([547, 453]);
  await expect(lastOf(engine.run(job(...texts, 'x '.repeat(45)), never))).rejects.toMatchObject({
    wire: { code: 'context_length_exceeded', param: 'input[1000]' },
    message: expect.stringContaining('input[1000] has 46') as string,
  });
});

test('an abort ends a request whose text is being tokenized; the next waits for that tokenizer', async () => {
  const { embedder, engine } = setUp();
  const { tokenize } = embedder;
  const calls: string[] = [];
  const slow = createDeferred();
  embedder.tokenize = async (texts) => {
    calls.push(texts.join());
    if (calls.length === 1) await slow.promise;
    return tokenize.call(embedder, texts);
  };
  const abort = new AbortController();
  const first = lastOf(engine.run(job('slow'), abort.signal));
  const second = lastOf(engine.run(job('a b'), never));
  await expect.poll(() => calls).toEqual(['slow']);
  abort.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  expect(calls).toEqual(['slow']);
  slow.resolve();
  expect((await second).promptTokens).toBe(2);
});

test(
  'a hundred requests of 2,048 texts are answered, half of them aborted, and another one beside them',
  { timeout: 60_000 },
  async () => {
    const embedder = new FakeEmbedder();
    const begun = createDeferred();
    // Without a timer for each batch: there are thousands.
    embedder.run = async (batch) => {
      await begun.promise;
      return batch.map((ids) => Float32Array.of(ids.length, ids[0] ?? 0));
    };
    let tokenized = 0;
    const { tokenize } = embedder;
    embedder.tokenize = (texts) => {
      tokenized += texts.length;
      return tokenize.call(embedder, texts);
    };
    const { engine } = setUp({}, embedder);
    const abort = new AbortController();
    const texts = Array.from({ length: 2048 }, (_, at) => 'a '.repeat(at % 7) + 'a');
    const requests = Array.from({ length: 100 }, (_, at) =>
      lastOf(engine.run(job(...texts), at % 2 === 0 ? abort.signal : never)).then(
        ({ vectors }) => vectors.length,
        (error: Error) => error.message,
      ),
    );
    const beside = lastOf(engine.run(job('b b'), never));
    await expect.poll(() => tokenized).toBe(100 * 2048 + 1);
    abort.abort(new Error('gone'));
    begun.resolve();
    expect((await beside).vectors.map((vector) => [...vector])).toEqual([[2, 98]]);
    const outcomes = await Promise.all(requests);
    expect(outcomes.filter((outcome) => outcome === 2048)).toHaveLength(50);
    expect(outcomes.filter((outcome) => outcome === 'gone')).toHaveLength(50);
    await lastOf(engine.run(job('b'), never));
  },
);

test('texts above the limit in progress are refused with a time to wait, and accepted later', async () => {
  const embedder = new FakeEmbedder();
  const { run } = embedder;
  const gate = createDeferred();
  embedder.run = async (batch) => {
    await gate.promise;
    return batch.map((ids) => Float32Array.of(ids.length, 0));
  };
  const { engine } = setUp({}, embedder);
  const abort = new AbortController();
  const texts = Array.from({ length: 2048 }, () => 'a');
  const requests = Array.from({ length: 128 }, () =>
    lastOf(engine.run(job(...texts), abort.signal)).catch((error: Error) => error.message),
  );
  await expect(lastOf(engine.run(job('b'), never))).rejects.toMatchObject({
    wire: { status: 429, code: 'rate_limit_exceeded', retryAfterMs: 5000 },
  });
  abort.abort(new Error('gone'));
  expect(new Set(await Promise.all(requests))).toEqual(new Set(['gone']));
  embedder.run = run;
  gate.resolve();
  await lastOf(engine.run(job('b'), never));
});
