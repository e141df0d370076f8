import { expect, test } from 'vitest';

import type { VariantOf } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { crashGpu } from '../support/crash-gpu.ts';
import { sharedPage } from '../support/shared-page.ts';
import { catalogOf, modelOf } from '../support/catalogs.ts';
import { dot, embed } from '../support/ask-page.ts';

const miniLm = defaultCatalog.models
  .flatMap(({ variants }) => variants)
  .find((variant): variant is VariantOf<'transformers'> => variant.name === 'all-minilm-l6-v2-f32');
if (!miniLm) throw new Error('the default catalog has no MiniLM');

const on = (backend: 'wasm' | 'webgpu') => ({ ...miniLm, name: `minilm-${backend}`, backend, optIn: false });
const catalog = catalogOf(
  modelOf('wasm', [on('wasm')], 'embedding'),
  modelOf('webgpu', [on('webgpu')], 'embedding'),
  modelOf('either', [on('webgpu'), { ...on('wasm'), name: 'minilm-next' }], 'embedding'),
);

const tab = sharedPage({ catalog }, undefined, { webgpu: 'software' });

test('shaders are compiled before a model is ready, as a phase of its load', async () => {
  const { phases, compileMs, firstMs } = await tab.page.evaluate(async (apiKey) => {
    const localtext = await window.localtext;
    const since: Record<string, number> = {};
    await localtext.ready('webgpu', { onProgress: ({ phase }) => (since[phase] ??= performance.now()) });
    const { compile = NaN, ready = NaN } = since;
    const began = performance.now();
    await window.client(apiKey).embeddings.create({ model: 'webgpu', input: 'The first text.' });
    return { phases: Object.keys(since), compileMs: ready - compile, firstMs: performance.now() - began };
  }, tab.key);
  console.log(`shaders ${Math.round(compileMs)} ms, the first request after them ${Math.round(firstMs)} ms`);
  expect(phases.slice(-2)).toEqual(['compile', 'ready']);
});

test('embeddings on WebGPU agree with those on WASM', async () => {
  const input = ['The weather is lovely today.', 'He drove to the stadium.'];
  const [onWasm = [], onWebGpu = []] = await Promise.all(
    ['wasm', 'webgpu'].map((model) => embed(tab.page, tab.key, model, input)),
  );
  const { models } = await tab.page.evaluate(async () => (await window.localtext).status());
  expect(models.slice(0, 2).map(({ fingerprint }) => fingerprint)).toEqual([
    expect.stringMatching(/wasm-\d+t$/) as string,
    expect.stringMatching(/webgpu$/) as string,
  ]);
  expect(onWebGpu).toHaveLength(2);
  for (const [at, vector] of onWebGpu.entries()) expect(dot(vector, onWasm[at])).toBeCloseTo(1, 4);
});

test('a GPU that the browser takes away: the next variant answers, and the status names the reason', async () => {
  const worker = tab.page.workers().find((each) => /\/worker[-.]/.test(each.url()));
  // As after several losses, when Chromium offers a GPU no more.
  await worker?.evaluate(() =>
    Object.defineProperty(navigator.gpu, 'requestAdapter', { value: async () => null }),
  );
  await crashGpu(tab.context);
  expect((await embed(tab.page, tab.key, 'either', 'hello'))[0]).toHaveLength(384);
  const { models } = await tab.page.evaluate(async () => (await window.localtext).status());
  const why = expect.stringMatching(/minilm-webgpu runs on WebGPU alone, and the browser offers no GPU now/);
  expect(models.find(({ id }) => id === 'either')?.reasons).toMatchObject([
    { variant: 'minilm-next', chosen: true },
    { variant: 'minilm-webgpu', chosen: false, reason: why as string },
  ]);
});
