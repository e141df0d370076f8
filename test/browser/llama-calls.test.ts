import { expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { EXPECTED } from '../support/llama-calls/observe-calls.ts';

test('llama.cpp’s server does what the scheduler relies on, and its fake in the unit tests imitates', async () => {
  const context = await launch();
  const page = await context.newPage();
  await page.goto(`${inject('siteUrl')}/llama-page.html`);
  expect(await page.evaluate(() => window.observeLlama())).toEqual(EXPECTED);
  await context.close();
});
