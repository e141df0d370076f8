import { expect, test } from 'vitest';
import type { Variant } from '../../../src/catalog/catalog.ts';
import { ServiceError } from '../../../src/base/errors/service-error.ts';
import type { ErrorCode } from '../../../src/base/errors/error-codes.ts';
import type { Engine } from '../../../src/engine-kit/engine.ts';
import { sleep, virtualTime } from '../../support/virtual-time.ts';
import { claim } from '../../support/claim.ts';
import { LoadedModels } from '../../../src/models/loaded-models.ts';
import { createModelManager } from '../../support/create-model-manager.ts';
import { catalogOf, ggufVariant, modelOf } from '../../support/catalogs.ts';
import { never } from '../../support/never.ts';

virtualTime();

const variant = (name: string, memoryBytes = 100): Variant => ggufVariant(name, { needs: { memoryBytes } });

/** Models `a`, `b`, `c`, each of 100 bytes in memory, unless others are given. */
function setUp(budget: number, variants: Record<string, Variant[]> = {}) {
  const loaded = new Set<string>();
  let most = 0;
  let fail: (name: string) => ErrorCode | null = () => null;
  const catalog = catalogOf(...['a', 'b', 'c'].map((id) => modelOf(id, variants[id] ?? [variant(id)])));
  let attempts = 0;
  const load = async ({ name }: Variant): Promise<Engine> => {
    attempts++;
    const code = fail(name);
    if (code !== null) throw new ServiceError({ code, message: `${name} ${code}` });
    loaded.add(name);
    most = Math.max(most, loaded.size);
    return {
      fingerprint: name,
      kind: 'embedding',
      slots: Infinity,
      traits: {},
      async *run() {},
      unload: async () => void loaded.delete(name),
    };
  };
  const loadedModels = new LoadedModels();
  const modelManager = createModelManager({
    catalog,
    loadedModels,
    load,
    budgetBytes: Promise.resolve(budget),
  });
  return {
    modelManager,
    loadedModels,
    inMemory: () => [...loaded].toSorted(),
    most: () => most,
    attempts: () => attempts,
    failWhile(check: typeof fail) {
      fail = check;
    },
  };
}

test('the least recently used goes when the next does not fit', async () => {
  const { modelManager, inMemory, most } = setUp(250);
  await modelManager.ready('a', never);
  await modelManager.ready('b', never);
  await sleep(1);
  await modelManager.ready('a', never);
  await modelManager.ready('c', never);
  expect(inMemory()).toEqual(['a', 'c']);
  expect(most()).toBe(2);
});

test('the status of an unloaded model names the weights that needed its memory, until it loads again', async () => {
  const { modelManager } = setUp(150);
  const unloaded = () => modelManager.status().map(({ id, unloadedFor }) => [id, unloadedFor]);
  await modelManager.ready('a', never);
  await modelManager.ready('b', never);
  expect(unloaded()).toEqual([
    ['a', 'b'],
    ['b', undefined],
    ['c', undefined],
  ]);
  await modelManager.ready('a', never);
  expect(unloaded()[0]).toEqual(['a', undefined]);
});

test('a load that a request can do without unloads no other model for want of memory', async () => {
  const { modelManager, inMemory, failWhile } = setUp(250);
  await modelManager.ready('a', never);
  failWhile((name) => (name === 'b' ? 'out_of_memory' : null));
  for (const _ of [1, 2])
    await expect(modelManager.ready('b', never, {}, true)).rejects.toThrow('b out_of_memory');
  expect(inMemory()).toEqual(['a']);
});

test('what answers a request is not unloaded; the next model waits for it, unless it fits', async () => {
  const { modelManager, inMemory } = setUp(250, { b: [variant('b', 200)] });
  const leave = await (await modelManager.ready('a', never)).queue.enter(never, claim());
  const b = modelManager.ready('b', never);
  await sleep(200);
  await modelManager.ready('c', never);
  expect(inMemory()).toEqual(['a', 'c']);
  leave();
  await b;
  expect(inMemory()).toEqual(['b']);
});

test('a caller that waits for memory can leave', async () => {
  const { modelManager, inMemory } = setUp(150);
  const a = await modelManager.ready('a', never);
  await a.queue.enter(never, claim());
  const abort = new AbortController();
  const b = modelManager.ready('b', abort.signal);
  void sleep(50).then(() => abort.abort(new Error('left')));
  await expect(b).rejects.toThrow('left');
  expect(inMemory()).toEqual(['a']);
});

test('loads that come together get their room one after another', async () => {
  const { modelManager, most } = setUp(150);
  await Promise.all(['a', 'b', 'c'].map((id) => modelManager.ready(id, never)));
  expect(most()).toBe(1);
});

test('models that were loaded before do not wait for each other when they come again', async () => {
  const { modelManager, loadedModels, inMemory, most } = setUp(150);
  const ids = ['a', 'b', 'c'];
  for (const id of ids) await modelManager.ready(id, never);
  await loadedModels.release('c');
  expect(inMemory()).toEqual([]);
  const began = performance.now();
  await Promise.all(ids.map((id) => modelManager.ready(id, never)));
  expect(performance.now() - began).toBeLessThan(1000);
  expect(most()).toBe(1);
});

test('one model larger than the whole budget is loaded alone', async () => {
  const { modelManager, inMemory } = setUp(50);
  await modelManager.ready('a', never);
  await modelManager.ready('b', never);
  expect(inMemory()).toEqual(['b']);
});

test('out of memory: the others are unloaded first, and then it is tried again', async () => {
  const { modelManager, inMemory, failWhile } = setUp(1000);
  await modelManager.ready('a', never);
  failWhile((name) => (name === 'b' && inMemory().length > 0 ? 'out_of_memory' : null));
  await modelManager.ready('b', never);
  expect(inMemory()).toEqual(['b']);
});

test('out of memory with nothing else there: the next variant, and the status says why', async () => {
  const { modelManager, inMemory, failWhile } = setUp(1000, { a: [variant('big'), variant('small')] });
  failWhile((name) => (name === 'big' ? 'out_of_memory' : null));
  expect((await modelManager.ready('a', never)).variant.name).toBe('small');
  expect(inMemory()).toEqual(['small']);
});

test('out of memory with no other variant: a clear error, and others are unloaded for it once', async () => {
  const { modelManager, inMemory, failWhile } = setUp(1000);
  failWhile((name) => (name === 'b' ? 'out_of_memory' : null));
  const fails = (replan = false) =>
    expect(modelManager.ready('b', never, { replan })).rejects.toMatchObject({
      wire: { code: 'out_of_memory' },
    });
  const kept: string[][] = [];
  for (const replan of [false, false, true]) {
    await modelManager.ready('a', never);
    await fails(replan);
    kept.push(inMemory());
  }
  expect(kept).toEqual([[], ['a'], []]);
});

test('a lack of memory is told at once for 30 s, unless a model is unloaded', async () => {
  const { modelManager, inMemory, failWhile, attempts } = setUp(1000);
  const leave = await (await modelManager.ready('a', never)).queue.enter(never, claim());
  failWhile((name) => (name === 'c' && inMemory().length > 0 ? 'out_of_memory' : null));
  const tries = async () => {
    await modelManager.ready('c', never).catch(() => undefined);
    return attempts() - 1;
  };
  expect([await tries(), await tries()]).toEqual([1, 1]);
  await sleep(31_000);
  expect([await tries(), await tries()]).toEqual([2, 2]);
  leave();
  expect([await tries(), inMemory()]).toEqual([3, ['c']]);
});
