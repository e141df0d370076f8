import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import type { Catalog, Variant } from '../../src/catalog/catalog.ts';
import { askAddedModel } from '../support/ask-added-model.ts';
import { firstLayers } from '../support/first-layers.ts';
import { publishHubModels, standIns } from '../support/hub-mirror.ts';
import { launch } from '../support/launch.ts';
import { ModelHub } from '../support/model-hub.ts';
import { openPage } from '../support/open-page.ts';
import { GGUF } from '../support/smollm2.ts';

/** Models of the hub list in a page that downloads them from a mirror: stand-ins of the right names. */

const LFM = 'lfm2.5-350m';
const GEMMA = 'gemma-4-e2b';

let hub: ModelHub;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  hub = await ModelHub.start();
  const [path = ''] = Object.keys(standIns.find(({ model }) => model.id === LFM)?.files ?? {});
  const list = publishHubModels(hub, { contents: { [path]: await firstLayers(GGUF, 2) } });
  const models = list.models.flatMap((model): Catalog['models'] => [
    model,
    // What is left of a GPU's needs is what a GPU in software has.
    ...(model.id === GEMMA
      ? [
          {
            ...model,
            id: 'gemma-anywhere',
            variants: model.variants.map(
              (variant) => ({ ...variant, name: 'gemma-anywhere', needs: { webgpu: false } }) as Variant,
            ),
          },
        ]
      : []),
  ]);
  const options = { catalog: { ...list, models }, sources: { hub: hub.url } };
  context = await launch({ webgpu: 'software' });
  ({ page, key } = await openPage(context, inject('siteUrl'), options));
});

const ready = (model: string): Promise<{ code: unknown; message: string } | null> =>
  page.evaluate(async (id) => {
    try {
      await (await window.localtext).ready(id);
      return null;
    } catch (error) {
      const { code, message } = error as { code: unknown; message: string };
      return { code, message };
    }
  }, model);

/** Paths of a repository's files that the mirror was asked for, without ranges. */
const askedFor = (repository: string): Set<string> =>
  new Set(
    hub.asked.flatMap((line) => new RegExp(`^/${repository}/resolve/[^/]+/(\\S+)`).exec(line)?.[1] ?? []),
  );

test('a GGUF of the list is downloaded, and answers', async () => {
  expect(await ready(LFM)).toBeNull();
  expect(await askAddedModel(page, key, LFM)).toMatch(/\S/);
  expect(askedFor('LiquidAI/LFM2.5-350M-GGUF')).toEqual(new Set(['LFM2.5-350M-Q4_K_M.gguf']));
});

test('an MLC model is not downloaded if the GPU lacks a feature that it needs', async () => {
  expect(await ready(GEMMA)).toMatchObject({ message: expect.stringContaining('GPU') as string });
  expect(askedFor('mlc-ai/gemma-4-E2B-it-q4f16_1-MLC')).toEqual(new Set());
});

test('files of an MLC model are downloaded, and its library; weights only for a library that runs', async () => {
  expect(await ready('gemma-anywhere')).toMatchObject({
    code: 'weights_corrupt',
    message: expect.stringMatching(/webgpu\.wasm is not a WebAssembly file/) as string,
  });
  const paths = Object.keys(standIns.find(({ model }) => model.id === GEMMA)?.files ?? {});
  const names = new Set(paths.map((path) => path.split('/').at(-1)));
  names.delete('params_shard_0.bin');
  const asked = [...askedFor('mlc-ai/gemma-4-E2B-it-q4f16_1-MLC'), ...askedFor('mirror/libraries')];
  expect(new Set(asked)).toEqual(names);
});
