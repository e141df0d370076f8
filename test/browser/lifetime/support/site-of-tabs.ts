import type { BrowserContext } from 'playwright';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';

import { launch } from '../../../support/launch.ts';
import type { Body } from '../site/run.ts';
import { AlteredSite, type Alterations } from './altered-site.ts';
import { Tab, type OpenOptions } from './tab.ts';

export interface SiteOfTabs {
  context: BrowserContext;
  site: AlteredSite;
  open(options?: OpenOptions): Promise<Tab>;
  /**
   * Closes the tabs, and has the site at another origin, as on a first visit: a browser that is told to forget a service
   * worker does so when it likes, and nothing tells when it has.
   */
  renew(): Promise<void>;
}

/**
 * A browser and a site for the tests of one file.
 * @param stored models whose weights are downloaded before the first test: a busy machine takes its time
 */
export function siteOfTabs(
  alterations?: Alterations,
  stored: readonly string[] = ['amber-phoenix-4', 'jade-mole-4'],
): SiteOfTabs {
  const lent = {} as SiteOfTabs;
  beforeAll(async () => {
    lent.context = await launch();
    lent.site = await AlteredSite.start(inject('siteUrl'), alterations);
    lent.renew = async () => {
      for (const page of lent.context.pages().slice(1)) await page.close();
      await lent.site.stop();
      lent.site = await AlteredSite.start(inject('siteUrl'), alterations);
    };
    lent.open = (options) => Tab.open(lent.context, lent.site.url, options);
    if (stored.length === 0) return;
    const tab = await lent.open();
    await tab.load(stored);
    await tab.page.close();
  });
  // Of a test that has failed, too: its engine must not serve the next one.
  afterEach(async () => {
    for (const page of lent.context.pages().slice(1)) await page.close();
  });
  afterAll(async () => {
    await lent.context.close();
    await lent.site.stop();
  });
  return lent;
}

/** Its reply at temperature 0 is long, and its numbers show at once what is missing or doubled. */
export const counting = (extra: Partial<Body> = {}): Body => ({
  messages: [{ role: 'user', content: 'Count from one to ten in words.' }],
  max_tokens: 24,
  ...extra,
});
