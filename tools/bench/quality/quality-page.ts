import type { Page } from 'playwright';
import { build } from 'vite';

import type { Catalog } from '../../../src/catalog/catalog.ts';
import { launch } from '../../../test/support/launch.ts';
import { pullTestWeights } from '../../../test/support/pull-test-weights.ts';
import { StaticSite } from '../../../test/support/static-site.ts';

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
