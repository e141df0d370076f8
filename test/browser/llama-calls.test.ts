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
