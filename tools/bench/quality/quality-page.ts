import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';

import type { Page } from 'playwright';
import { build } from 'vite';

import type { Catalog, WeightFile } from '../../../src/catalog/catalog.ts';
import { launch } from '../../../test/support/launch.ts';
import { pullTestWeights } from '../../../test/support/pull-test-weights.ts';
import { StaticSite } from '../../../test/support/static-site.ts';
import { serveModels } from '../../../test/support/tiny-onnx/serve-models.ts';

/** Builds the test site, and gives `work` its page, without a GPU. */
export async function withQualityPage(catalog: Catalog, work: (page: Page) => Promise<void>): Promise<void> {
  await pullTestWeights();
  await build({ mode: 'browser-tests', logLevel: 'warn' });
  const site = await StaticSite.start();
  const context = await launch({ extraArgs: ['--disable-blink-features=WebGPU'] });
  try {
    const page = await context.newPage();
    const options = encodeURIComponent(JSON.stringify({ catalog }));
    await page.goto(`${site.url}/test-page.html#options=${options}`);
    await work(page);
  } finally {
    await context.close();
    await site.stop();
  }
}

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
