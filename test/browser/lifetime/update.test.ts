import { expect, test } from 'vitest';

import { deployBuild, lookForUpdate } from '../../support/site-builds.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';

const lent = siteOfTabs(undefined, ['amber-phoenix-4']);

test('a new version takes over beside a chat and loops of requests, and each of them is answered', async () => {
  const tab = await lent.open();
  const other = await lent.open();
  await other.page.evaluate((key) => {
    const list = async (): Promise<void> => {
      const { status } = await fetch('/v1/models', { headers: { authorization: `Bearer ${key}` } });
      if (status !== 200) document.body.dataset['failure'] = `${status}`;
    };
    const repeat = async (ask: () => Promise<unknown>): Promise<void> => {
      for (;;) await ask().catch((error: unknown) => (document.body.dataset['failure'] = String(error)));
    };
    for (let asks = 0; asks < 8; asks++) void repeat(list);
    for (let asks = 0; asks < 8; asks++) void repeat(() => window.lifetime.handle().status());
  }, other.key);
  await deployBuild(lent.site, 'second');
  expect(await tab.page.evaluate(lookForUpdate)).toBe(true);
  const name = await tab.begin(counting({ max_tokens: 24 }));
  await tab.deltas(name, 2);
  expect(await tab.page.evaluate(() => window.lifetime.handle().update())).toBe(true);
  expect((await tab.ended(name)).finish).toEqual({ 0: 'length' });
  await tab.page.reload();
  expect(await tab.page.title()).toBe('second');
  expect(await other.page.evaluate(() => document.body.dataset['failure'])).toBeUndefined();
}, 60_000);
