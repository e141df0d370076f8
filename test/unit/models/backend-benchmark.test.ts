import { expect, test } from 'vitest';

import type { VariantOf } from '../../../src/catalog/catalog.ts';
import type { Device } from '../../../src/engine-kit/device.ts';
import type { Engine } from '../../../src/engine-kit/engine.ts';
import { BackendBenchmark, type BenchmarkOptions } from '../../../src/models/backend-benchmark.ts';
import { MemoryBackend } from '../../../src/weights/backends/open-backend.ts';
import { openStore } from '../weights/open-store.ts';
import { plainDevice } from '../engine-kit/plain-device.ts';
import { sleep, virtualTime } from '../../support/virtual-time.ts';

virtualTime();

const variant: VariantOf<'transformers'> = {
  engine: 'transformers',
  name: 'v',
  license: 'MIT',
  contextLength: 9,
  files: [],
  dimensions: 2,
  pooling: 'mean',
};
const device = (fallback: boolean): Device => ({ ...plainDevice, gpu: { ...plainDevice.gpu, fallback } });

/** Takes that long for each call, and gives the same vector for each text. */
const embedder = (ms: number, vector: [number, number] = [1, 0]): Engine<'embedding'> => ({
  kind: 'embedding',
  fingerprint: 'v',
  slots: Infinity,
  traits: {},
  async *run({ input }) {
    await sleep(ms);
    const vectors = ('texts' in input ? input.texts : []).map(() => Float32Array.from(vector));
    yield { type: 'done', vectors, promptTokens: 1, fingerprint: 'v' };
  },
  unload: async () => undefined,
});

function setUp(gpu: Engine<'embedding'>, options: Partial<BenchmarkOptions> = {}) {
  const results: string[] = [];
  const notes = new Map<string, string>();
  const store = openStore(new MemoryBackend(), 'http://127.0.0.1:9/');
  const given: BenchmarkOptions = {
    device: Promise.resolve(device(false)),
    store: () => Promise.resolve(store),
    which: 'real-gpu',
    notes,
    version: '1',
    busy: () => false,
    onResult: (_, result) => void results.push(result.backend),
    ...options,
  };
  const benchmark = new BackendBenchmark(given);
  const measure = (engine: Engine<'embedding'>, its = variant) =>
    benchmark.maybeRun(its, engine, async () => gpu);
  return { benchmark, measure, results, notes, given };
}

test('a GPU that is faster and agrees is kept, also for the next worker; not for another version', async () => {
  const { benchmark, measure, results, notes, given } = setUp(embedder(2));
  expect(await benchmark.backend(variant)).toBe('wasm');
  await measure(embedder(60));
  expect(results).toEqual(['webgpu']);
  expect(notes.get('v')).toMatch(
    /^on the GPU, the faster of the two \(measured: \d+ ms on WASM, \d+ ms on the GPU/,
  );
  expect(await new BackendBenchmark(given).backend(variant)).toBe('webgpu');
  expect(await new BackendBenchmark({ ...given, version: '2' }).backend(variant)).toBe('wasm');
});

test('a GPU that is slower is not', async () => {
  const { measure, results, notes } = setUp(embedder(60));
  await measure(embedder(2));
  expect(results).toEqual(['wasm']);
  expect(notes.get('v')).toMatch(/^on WASM, the faster/);
});

test.each<[string, [number, number]]>([
  ['other vectors', [0.6, 0.8]],
  ['no numbers', [Number.NaN, 0]],
])('a GPU that is faster and computes %s is not trusted', async (_, vector) => {
  const { measure, results, notes } = setUp(embedder(1, vector));
  await measure(embedder(60));
  expect(results).toEqual(['wasm']);
  expect(notes.get('v')).toMatch(/^on WASM, as the GPU computes other numbers/);
});

test('a GPU in software is not measured, and the reason says so', async () => {
  const { measure, results, notes } = setUp(embedder(1), { device: Promise.resolve(device(true)) });
  await measure(embedder(60));
  expect(results).toEqual([]);
  expect(notes.get('v')).toBe('on WASM, as WebGPU runs in software here');
});

test('a measured GPU that fails later is left alone', async () => {
  const { benchmark, measure, notes } = setUp(embedder(1));
  await measure(embedder(60));
  benchmark.disable(variant);
  expect(await benchmark.backend(variant)).toBe('wasm');
  expect(notes.get('v')).toBe('on WASM, as the GPU that was faster once has failed');
});

test('the loss of a GPU that another engine uses changes nothing for what runs on WASM', async () => {
  const { benchmark, notes } = setUp(embedder(1));
  benchmark.disable(variant);
  expect(notes.has('v')).toBe(false);
});

test('nothing is measured while requests run', async () => {
  let busy = true;
  const { measure, results } = setUp(embedder(1), { busy: () => busy });
  const considered = measure(embedder(60));
  await sleep(10_000);
  expect(results).toEqual([]);
  busy = false;
  await considered;
  expect(results).toEqual(['webgpu']);
});

test('what is too large to be in memory twice is not measured', async () => {
  const { measure, results, notes } = setUp(embedder(1));
  const files = [{ path: 'v/onnx/model.onnx', bytes: 2e9, sha256: 'a'.repeat(64) }];
  await measure(embedder(60), { ...variant, files });
  expect(results).toEqual([]);
  expect(notes.get('v')).toMatch(/^on WASM: it is too large/);
});

test('a request ends the measurement, which restarts when all is quiet', async () => {
  let busy = false;
  let runs = 0;
  const slow: Engine<'embedding'> = {
    ...embedder(0),
    async *run(job, signal) {
      busy = ++runs === 1;
      for await (const event of embedder(2500).run(job, signal)) {
        signal.throwIfAborted();
        yield event;
      }
    },
  };
  const { measure, results } = setUp(embedder(1), { busy: () => busy });
  const considered = measure(slow);
  await expect.poll(() => runs, { timeout: 6000 }).toBe(1);
  await sleep(10_000);
  expect(results).toEqual([]);
  busy = false;
  await considered;
  expect(results).toEqual(['webgpu']);
  expect(runs).toBe(4);
});
