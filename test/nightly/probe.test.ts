import { expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';

test('a GPU in software is timed against WASM on request: WASM stays, and the status has the figures', async () => {
  const context = await launch({ webgpu: 'software' });
  try {
    const options = encodeURIComponent(JSON.stringify({ limits: { probe: 'any-gpu' } }));
    const { page } = await openPage(context, inject('siteUrl'), `/test-page.html?options=${options}`);
    await page.evaluate(async () => (await window.localtext).ready('jade-mole-4'));
    const reason = (): Promise<string> =>
      page.evaluate(async () => {
        const { models } = await (await window.localtext).status();
        const reasons = models.find(({ id }) => id === 'jade-mole-4')?.reasons ?? [];
        return reasons.find(({ chosen }) => chosen)?.reason ?? '';
      });
    expect(await reason()).not.toContain('measured');
    await expect
      .poll(reason, { timeout: 150_000, interval: 2000 })
      .toMatch(
        /; on WASM, the faster of the two \(measured: \d+ ms on WASM, \d+ ms on the GPU, cosine (1\.0000|0\.99\d\d)\)/,
      );
  } finally {
    await context.close();
  }
});
