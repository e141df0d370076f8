import { describe, expect, inject, onTestFinished, test } from 'vitest';

import { counting } from '../browser/lifetime/support/site-of-tabs.ts';
import { selectedBrowsers } from '../browsers/support/browsers.ts';
import { SiteTab } from '../browsers/support/site-tab.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { smallChat } from '../support/small-chat.ts';

const others = selectedBrowsers().filter(({ name }) => name !== 'chromium');

describe.each(others)('$name', ({ name, launch, isInstalled }) => {
  const isThere = isInstalled();
  if (!isThere) console.warn(`${name} is not installed: skipped. npm run test:all installs it.`);

  test.skipIf(!isThere)('a page chats, and a wrong key is refused', async () => {
    const [site, { catalog, serve }] = await Promise.all([
      AlteredSite.start(inject('siteUrl'), { isolated: true }),
      smallChat(),
    ]);
    onTestFinished(() => site.stop());
    serve(site);
    const browser = await launch({ computesLittle: true });
    onTestFinished(() => browser.close());
    const tab = await SiteTab.open(browser, site.url, { catalog });
    const run = await tab.run(counting({ max_tokens: 6 }), 120_000);
    expect(run).toMatchObject({ finish: { 0: 'length' }, usage: { completion_tokens: 6 }, error: null });
    expect(run?.text[0]).toMatch(/./);
    expect(await tab.status('/v1/models', 'lt_wrong')).toBe(401);
  });
});
