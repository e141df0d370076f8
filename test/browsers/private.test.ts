import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { StaticSite } from '../support/static-site.ts';
import { selectedBrowsers } from './support/browsers.ts';
import { counted, SiteTab } from './support/site-tab.ts';
import type { Browser } from './support/driver.ts';

describe.each(selectedBrowsers())('$name', ({ launch }) => {
  let browser: Browser;
  let site: StaticSite;

  beforeAll(async () => {
    [browser, site] = await Promise.all([launch({ isPrivate: true }), StaticSite.start()]);
  });
  afterAll(() => browser?.close());

  test('a private window streams a chat, also after a reload', async () => {
    const tab = await SiteTab.open(browser, site.url);
    expect(await tab.run({ max_tokens: 3 })).toMatchObject({ text: { 0: counted(3) } });
    await tab.reload();
    expect(await tab.run({ max_tokens: 3 })).toMatchObject({ text: { 0: counted(3) } });
  });
});
