import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { StaticSite } from '../support/static-site.ts';

let profile: string | null = null;
afterAll(async () => {
  if (profile !== null) await rm(profile, { recursive: true, force: true, maxRetries: 5 });
});

test('after one visit all works from a cold browser start with the server gone', async () => {
  profile = await mkdtemp(join(tmpdir(), 'localtext-offline-'));
  const site = await StaticSite.start();
  const first = await launch({ profile });
  const { page, key } = await openPage(first, site.url);
  await page.evaluate(async () => {
    const localtext = await window.localtext;
    await localtext.ready('jade-mole-4');
    await localtext.ready('amber-phoenix-4');
  });
  await first.close();
  await site.stop();

  const second = await launch({ profile });
  const failed: string[] = [];
  try {
    const next = await second.newPage();
    next.on('requestfailed', (request) => failed.push(request.url()));
    await next.goto(`${site.url}/test-page.html`);
    const answers = await next.evaluate(async (apiKey) => {
      await window.localtext;
      const client = window.client(apiKey);
      const { data } = await client.embeddings.create({ model: 'jade-mole-4', input: 'hello' });
      const { choices } = await client.chat.completions.create({
        model: 'amber-phoenix-4',
        messages: [{ role: 'user', content: 'Say hello.' }],
        max_tokens: 4,
        temperature: 0,
      });
      return {
        dimensions: data[0]?.embedding.length,
        text: choices[0]?.message.content,
        isolated: crossOriginIsolated,
      };
    }, key);
    expect(answers).toEqual({ dimensions: 384, text: expect.stringMatching(/./) as string, isolated: true });

    await next.goto(`${site.url}/`);
    await expect.poll(() => next.locator('main').count(), { timeout: 20_000 }).toBeGreaterThan(0);
    expect(failed.filter((url) => !/\/models\/manifest\.json$|\/favicon/.test(url))).toEqual([]);
  } finally {
    await second.close();
  }
});
