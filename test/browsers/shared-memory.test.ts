import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { selectedBrowsers } from './support/browsers.ts';
import type { Browser } from './support/driver.ts';
import { launchFirefox } from './support/firefox.ts';
import { SiteTab } from './support/site-tab.ts';

/** Firefox can switch shared memory off; the engines' WASM files have it, also with one thread. */
describe.each(selectedBrowsers().filter(({ name }) => name === 'firefox'))('$name', () => {
  let browser: Browser;
  let site: AlteredSite;
  let tab: SiteTab;

  beforeAll(async () => {
    browser = await launchFirefox({ sharedMemory: false });
    site = await AlteredSite.start(inject('siteUrl'));
    tab = await SiteTab.open(browser, site.url, {});
  });
  afterAll(() => browser?.close());

  test.each(['amber-phoenix-4', 'jade-mole-4'])(
    '%s: without shared memory the error says so, before a download',
    async (model) => {
      await tab.beginLoad(model);
      await expect
        .poll(() => tab.loadPhase(), { timeout: 60_000 })
        .toMatch(/shared WebAssembly memory, which this browser has switched off/);
      expect(site.asked.filter((path) => path.includes('/models/') && !path.endsWith('.json'))).toEqual([]);
    },
  );
});
