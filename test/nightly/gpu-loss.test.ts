import { setTimeout as delay } from 'node:timers/promises';

import { expect, inject, test } from 'vitest';

import type { VariantOf } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { crashGpu } from '../support/crash-gpu.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { openPage } from '../support/open-page.ts';
import { catalogOf, modelOf } from '../support/catalogs.ts';
import { send } from '../support/send.ts';

interface Embedded {
  data?: { embedding: number[] }[];
  error?: { code: string };
}

const LOSSES = 10;

const miniLm = defaultCatalog.models
  .flatMap(({ variants }) => variants)
  .find((variant): variant is VariantOf<'transformers'> => variant.name === 'all-minilm-l6-v2-f32');
if (!miniLm) throw new Error('the default catalog has no MiniLM');

const always = { ...miniLm, optIn: false };
const onGpu = { ...always, name: 'minilm-webgpu', backend: 'webgpu' as const };
const catalog = catalogOf(
  modelOf('gpu-alone', [{ ...onGpu, name: 'minilm-webgpu-alone' }], 'embedding'),
  modelOf('gpu-first', [onGpu, { ...always, name: 'minilm-wasm', backend: 'wasm' }], 'embedding'),
);

test(`a GPU process that ends ${LOSSES} times: each request is answered, or refused by name`, async () => {
  const context = await launchWithWeights({
    webgpu: 'software',
    extraArgs: ['--disable-gpu-process-crash-limit'],
  });
  try {
    const { page, key } = await openPage(context, inject('siteUrl'), { catalog });
    const input = Array.from({ length: 8 }, (_, i) => `${i} ${'word '.repeat(60)}`);
    const ask = async (model: string) => {
      const { body } = await send<Embedded>(page, key, '/v1/embeddings', { model, input });
      return body.data?.[0]?.embedding.length ?? body.error?.code;
    };
    for (const model of ['gpu-first', 'gpu-alone']) await ask(model);
    const answers: Record<string, unknown[]> = {};
    for (const model of ['gpu-first', 'gpu-alone'])
      for (let loss = 0; loss < LOSSES; loss++) {
        const asked = ask(model);
        await delay(100);
        await crashGpu(context);
        (answers[model] ??= []).push(await asked);
      }
    expect(new Set(answers['gpu-first'])).toEqual(new Set([384]));
    for (const answer of answers['gpu-alone'] ?? [])
      expect([384, 'device_lost', 'device_unsupported', 'model_unavailable']).toContain(answer);
  } finally {
    await context.close();
  }
}, 600_000);
