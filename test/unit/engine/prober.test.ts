import { expect, test } from 'vitest';
import type { TransformersVariant } from '../../../src/catalog/catalog.ts';
import type { Device } from '../../../src/engine/device/device.ts';
import type { EmbeddingEngine } from '../../../src/engine/engine.ts';
import { Prober, type ProberOptions } from '../../../src/engine/prober.ts';
import { MemoryShelf } from '../../../src/engine/weights/memory-shelf.ts';
import { WeightStore } from '../../../src/engine/weights/weight-store.ts';

const variant: TransformersVariant = {
  engine: 'transformers',
  name: 'v',
  license: 'MIT',
  contextLength: 9,
  files: [],
  dimensions: 2,
  pooling: 'mean',
};
const device = (fallback: boolean): Device => ({
  gpu: { name: 'acme', fallback, features: [], maxBufferSize: 1, maxStorageBufferBindingSize: 1 },
  memoryGiB: null,
  cores: 4,
  crossOriginIsolated: true,
  storage: null,
  saveData: false,
  battery: null,
});

/** Takes that long for each call, and gives the same vector for each text. */
const embedder = (ms: number, vector: [number, number] = [1, 0]): EmbeddingEngine => ({
  fingerprint: 'v',
  embed: async ({ input }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    const texts = 'texts' in input ? input.texts : [];
    return { vectors: texts.map(() => Float32Array.from(vector)), tokens: 1 };
  },
  unload: async () => undefined,
});

function setUp(gpu: EmbeddingEngine, options: Partial<ProberOptions> = {}) {
  const results: string[] = [];
  const store = new WeightStore(new MemoryShelf(), 'http://127.0.0.1:9/');
  const given: ProberOptions = {
    device: Promise.resolve(device(false)),
    store: Promise.resolve(store),
    which: 'real-gpu',
    version: '1',
    load: async () => gpu,
    busy: () => false,
    onResult: (_, result) => void results.push(result.device),
    ...options,
  };
  return { prober: new Prober(given), results, given };
}

test('a GPU that is faster and agrees is kept, also for the next worker; not for another version', async () => {
  const { prober, results, given } = setUp(embedder(2));
  expect(await prober.backend(variant)).toBe('wasm');
  await prober.consider(variant, embedder(60));
  expect(results).toEqual(['webgpu']);
  expect(prober.remark('v')).toMatch(
    /^on the GPU, the faster of the two \(measured: \d+ ms on WASM, \d+ ms on the GPU/,
  );
  expect(await new Prober(given).backend(variant)).toBe('webgpu');
  expect(await new Prober({ ...given, version: '2' }).backend(variant)).toBe('wasm');
});

test('a GPU that is slower is not', async () => {
  const { prober, results } = setUp(embedder(60));
  await prober.consider(variant, embedder(2));
  expect(results).toEqual(['wasm']);
  expect(prober.remark('v')).toMatch(/^on WASM, the faster/);
});

test.each<[string, [number, number]]>([
  ['other vectors', [0.6, 0.8]],
  ['no numbers', [Number.NaN, 0]],
])('a GPU that is faster and computes %s is not trusted', async (_, vector) => {
  const { prober, results } = setUp(embedder(1, vector));
  await prober.consider(variant, embedder(60));
  expect(results).toEqual(['wasm']);
  expect(prober.remark('v')).toMatch(/^on WASM, as the GPU computes other vectors/);
});

test('a GPU in software is not measured, and the reason says so', async () => {
  const { prober, results } = setUp(embedder(1), { device: Promise.resolve(device(true)) });
  await prober.consider(variant, embedder(60));
  expect(results).toEqual([]);
  expect(prober.remark('v')).toBe('on WASM, as WebGPU runs in software here');
});

test('a measured GPU that fails later is left alone', async () => {
  const { prober } = setUp(embedder(1));
  await prober.consider(variant, embedder(60));
  prober.distrust(variant);
  expect(await prober.backend(variant)).toBe('wasm');
});

test('nothing is measured while requests run', async () => {
  let busy = true;
  const { prober, results } = setUp(embedder(1), { busy: () => busy });
  const considered = prober.consider(variant, embedder(60));
  await new Promise((resolve) => setTimeout(resolve, 3600));
  expect(results).toEqual([]);
  busy = false;
  await considered;
  expect(results).toEqual(['webgpu']);
}, 15_000);
