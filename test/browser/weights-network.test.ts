import type { BrowserContext } from 'playwright';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { AlteredSite } from './lifetime/support/altered-site.ts';

const EMBEDDER = 'jade-mole-4';
const SAFETENSORS = '/models/all-minilm-l6-v2/model.safetensors';

let site: AlteredSite;
let context: BrowserContext;

beforeEach(async () => {
  site = await AlteredSite.start(inject('siteUrl'), { isolated: true });
  context = await launch();
});

afterEach(async () => {
  await context.close();
  await site.stop();
});

test('a download whose connections all fall silent goes on by itself', async () => {
  let silent = 0;
  site.stalls.set(SAFETENSORS, (answer) => {
    // The first one shows that the server gives parts; then there are four.
    const stalls = answer >= 1 && answer <= 4;
    if (stalls) silent++;
    return stalls;
  });
  const { page, key } = await openPage(context, site.url);
  const at = Date.now();
  await page.evaluate(async (id) => (await window.localtext).ready(id), EMBEDDER);
  console.log(`whole ${Date.now() - at} ms after it was asked for`);
  expect(silent).toBe(4);
  const width = await page.evaluate(async (apiKey) => {
    const { data } = await window.client(apiKey).embeddings.create({ model: 'jade-mole-4', input: 'hello' });
    return data[0]?.embedding.length;
  }, key);
  expect(width).toBe(384);
});

test('two tabs that want a model at once download each piece once, and the second goes on when the first is closed', async () => {
  const first = await openPage(context, site.url);
  const second = await openPage(context, site.url);
  const pieces = (): string[] => site.asked.filter((each) => each.startsWith(`${SAFETENSORS} `));
  // Slow enough for the first tab to be closed in the middle.
  site.delays.set(SAFETENSORS, 200);
  const gone = first.page.evaluate(async (id) => (await window.localtext).ready(id), EMBEDDER);
  gone.catch(() => undefined);
  const ready = second.page.evaluate(async (id) => (await window.localtext).ready(id), EMBEDDER);
  await expect.poll(() => pieces().length, { timeout: 60_000 }).toBeGreaterThan(9);
  expect(new Set(pieces()).size).toBe(pieces().length);
  await first.page.close();
  await ready;
  const twice = pieces().length - new Set(pieces()).size;
  console.log(`${pieces().length} pieces asked for, ${twice} of them twice`);
  expect(new Set(pieces()).size).toBe(22);
  // Those that were under way.
  expect(twice).toBeLessThanOrEqual(4);
});
