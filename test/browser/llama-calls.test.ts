import { expect, inject, onTestFinished, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { firstLayers } from '../support/first-layers.ts';
import { launch } from '../support/launch.ts';
import { EXPECTED } from '../support/llama-calls/observe-calls.ts';

const GGUF = 'models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q8_0.gguf';

test('llama.cpp’s server does what the scheduler relies on, and its fake in the unit tests imitates', async () => {
  const site = await AlteredSite.start(inject('siteUrl'), { isolated: true });
  onTestFinished(() => site.stop());
  site.serve(`/${GGUF}`, await firstLayers(`public/${GGUF}`, 2));
  const context = await launch();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(`${site.url}/llama-page.html`);
  expect(await page.evaluate(() => window.observeLlama())).toEqual(EXPECTED);
});

test('llama.cpp drops saved prompt states when its memory may not grow, and goes on', async () => {
  const context = await launch();
  const page = await context.newPage();
  await page.goto(`${inject('siteUrl')}/llama-page.html`);
  const limit = 3_000_000;
  const seen = await page.evaluate((bytes) => window.saveStates(10, bytes), limit);
  expect(seen).toMatchObject({ isLimited: true, replies: 10 });
  expect(seen.grownBytes).toBeLessThanOrEqual(limit);
  await context.close();
});
