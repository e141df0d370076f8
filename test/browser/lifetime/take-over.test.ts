import { expect, test } from 'vitest';

import { deployBuild, lookForUpdate } from '../../support/site-builds.ts';
import { siteOfTabs } from './support/site-of-tabs.ts';

const lent = siteOfTabs(undefined, []);

test('a new version takes over while another tab asks for the status again and again', async () => {
  const tab = await lent.open();
  const other = await lent.open();
  await other.page.evaluate(() => {
    const ask = async (): Promise<void> => {
      for (;;) await window.lifetime.handle().status();
    };
    for (let asks = 0; asks < 8; asks++) void ask();
  });
  await deployBuild(lent.site, 'second');
  expect(await tab.page.evaluate(lookForUpdate)).toBe(true);
  expect(await tab.page.evaluate(() => window.lifetime.handle().update())).toBe(true);
  await tab.page.reload();
  expect(await tab.page.title()).toBe('second');
}, 60_000);
