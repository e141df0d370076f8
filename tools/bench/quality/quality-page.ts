import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';

import type OpenAI from 'openai';
import type { Page } from 'playwright';
import { build } from 'vite';

import type { Catalog, WeightFile, VariantOf } from '../../../src/catalog/catalog.ts';
import { launch } from '../../../test/support/launch.ts';
import { pullTestWeights } from '../../../test/support/pull-test-weights.ts';
import { openPage } from '../../../test/support/open-page.ts';
import { StaticSite } from '../../../test/support/static-site.ts';
import { serveModels } from '../../../test/support/tiny-onnx/serve-models.ts';
import { findWeights } from './find-weights.ts';

/** Folder into which `localtext pull` puts weights. */
const FOLDER = 'public/models';

/**
 * Serves weights, and gives `work` a page of the test site, without a GPU.
 * @param names as `findWeights()` takes them
 * @param toCatalog makes the page's catalog
 */
export async function withQualityPage(
  names: readonly string[],
  toCatalog: (variants: VariantOf<'wllama'>[]) => Catalog,
  work: (page: Page, catalog: Catalog) => Promise<void>,
): Promise<void> {
  await pullTestWeights();
  const found = await Promise.all(names.map((name) => findWeights(name, FOLDER)));
  const served = await Promise.all(found.map(({ paths }) => Promise.all(paths.map(serveWeights))));
  const catalog = toCatalog(
    found.map(({ variant }, at) => ({ ...variant, files: (served[at] ?? []).map(({ file }) => file) })),
  );
  await build({ mode: 'browser-tests', logLevel: 'warn' });
  const site = await StaticSite.start();
  const context = await launch({ extraArgs: ['--disable-blink-features=WebGPU'] });
  try {
    const { page } = await openPage(context, site.url, { catalog });
    await work(page, catalog);
  } finally {
    await context.close();
    await site.stop();
    for (const { close } of served.flat()) close();
  }
}

type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model'>;

/** Greedy answers of a model, one after another. */
export const answersOf = (page: Page, model: string, bodies: readonly Body[]) =>
  page.evaluate(
    async ([id, all]) => {
      const limits = { requestsPerMinute: 100_000, tokensPerMinute: 100_000_000 };
      const { key } = await (await window.localtext).keys.ensure({ label: 'quality', limits });
      const client = window.client(key, { timeout: 600_000 });
      const answers: OpenAI.ChatCompletion[] = [];
      for (const body of all)
        answers.push(await client.chat.completions.create({ ...body, model: id, temperature: 0 }));
      return answers;
    },
    [model, bodies] as const,
  );

/** Functions that an answer calls. */
export const callsIn = ({ choices }: OpenAI.ChatCompletion) =>
  (choices[0]?.message.tool_calls ?? []).flatMap((call) => ('function' in call ? [call.function] : []));

/** A file of weights on another origin, as a catalog names it. */
export async function serveWeights(path: string): Promise<{ file: WeightFile; close(): void }> {
  const body = new Uint8Array(await readFile(path));
  const name = basename(path);
  const { url, close } = await serveModels({ weights: { [name]: body } });
  const sha256 = createHash('sha256').update(body).digest('hex');
  return {
    file: { path: `weights/${name}`, bytes: body.length, sha256, url: `${url}/weights/${name}` },
    close,
  };
}
