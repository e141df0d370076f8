import type { BrowserContext, Page } from 'playwright';
import { afterEach, beforeAll, inject } from 'vitest';

import { forFile } from '../../../support/at-end.ts';
import { launchWithWeights } from '../../../support/stored-weights.ts';
import type { Body } from '../site/run.ts';
import { AlteredSite, type Alterations } from '../../../support/altered-site.ts';
import { Tab, type OpenOptions } from './tab.ts';

export interface SiteOfTabs {
  /** It has the weights stored. */
  context: BrowserContext;
  site: AlteredSite;
  /** Leads, with the models in memory, until a test calls `leave` or `renew`: to load them costs as much as 100 tokens. */
  kept: Tab;
  open(options?: OpenOptions): Promise<Tab>;
  /** Closes the kept tab, and with it the engine. */
  leave(): Promise<void>;
  /**
   * Another browser and site, as on a first visit: a browser that is told to forget a service worker does so when it likes,
   * and nothing tells when it has.
   */
  renew(): Promise<void>;
}

/**
 * A browser and a site for the tests of one file.
 * @param models in memory before the first test; none: no tab is kept
 */
export function siteOfTabs(
  alterations?: Alterations,
  models: readonly string[] = ['amber-phoenix-4', 'jade-mole-4'],
): SiteOfTabs {
  const lent = {} as SiteOfTabs;
  let kept: Page | null = null;
  const closeTabs = async (): Promise<void> => {
    for (const page of lent.context.pages().slice(1)) if (page !== kept) await page.close();
  };
  lent.leave = () => {
    kept = null;
    return closeTabs();
  };
  const begin = async (): Promise<void> => {
    lent.site = await AlteredSite.start(inject('siteUrl'), alterations);
    lent.context = await launchWithWeights({ servedBy: lent.site.url });
  };
  lent.renew = async () => {
    kept = null;
    await lent.context.close();
    await forFile(begin);
  };
  lent.open = (options) => Tab.open(lent.context, inject('siteUrl'), options);
  beforeAll(async () => {
    await begin();
    if (models.length === 0) return;
    lent.kept = await lent.open();
    kept = lent.kept.page;
    await lent.kept.load(models);
  });
  // Of a test that has failed, too: its tabs must not serve the next one.
  afterEach(closeTabs);
  return lent;
}

/** Its reply at temperature 0 is long, and its numbers show at once what is missing or doubled. */
export const counting = (extra: Partial<Body> = {}): Body => ({
  messages: [{ role: 'user', content: 'Count from one to ten in words.' }],
  max_tokens: 24,
  ...extra,
});

/** Asks for a response that is stored. */
export const storedResponse = (tokens: number): Body => ({
  path: '/responses',
  input: 'Count from one to ten in words.',
  temperature: 0,
  store: true,
  max_output_tokens: tokens,
});
