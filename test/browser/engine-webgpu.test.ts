import type { BrowserContext } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import type { Catalog, TransformersVariant } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';

const siteUrl = inject('siteUrl');
let context: BrowserContext;

beforeAll(async () => {
  context = await launch({ webgpu: 'software' });
});

afterAll(async () => {
  await context.close();
});

const miniLm = defaultCatalog.models
  .flatMap(({ variants }) => variants)
  .find((variant): variant is TransformersVariant => variant.name === 'all-minilm-l6-v2-f32');
if (!miniLm) throw new Error('the default catalog has no MiniLM');

const catalog: Catalog = {
  ownedBy: 'test',
  models: (['wasm', 'webgpu'] as const).map((device) => ({
    id: device,
    kind: 'embedding' as const,
    created: 1,
    variants: [{ ...miniLm, name: `minilm-${device}`, device }],
  })),
};

test('embeddings on WebGPU agree with those on WASM', async () => {
  const options = encodeURIComponent(JSON.stringify({ catalog }));
  const { page, key } = await openPage(context, siteUrl, `/test-page.html?options=${options}`);
  const { vectors, fingerprints } = await page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    const input = ['The weather is lovely today.', 'He drove to the stadium.'];
    const answers = await Promise.all(
      ['wasm', 'webgpu'].map((model) => client.embeddings.create({ model, input })),
    );
    const { models } = await (await window.localtext).status();
    return {
      vectors: answers.map(({ data }) => data.map(({ embedding }) => embedding)),
      fingerprints: models.map(({ fingerprint }) => fingerprint),
    };
  }, key);
  expect(fingerprints).toEqual([
    expect.stringMatching(/wasm-\d+t$/) as string,
    expect.stringMatching(/webgpu$/) as string,
  ]);
  const [onWasm = [], onWebGpu = []] = vectors;
  expect(onWebGpu).toHaveLength(2);
  for (const [at, vector] of onWebGpu.entries()) {
    const cosine = vector.reduce((sum, value, index) => sum + value * (onWasm[at]?.[index] ?? 0), 0);
    expect(cosine).toBeCloseTo(1, 4);
  }
});
