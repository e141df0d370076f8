import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { selectedBrowsers } from './support/browsers.ts';
import { launchFirefox } from './support/firefox.ts';
import { SiteTab } from './support/site-tab.ts';

/** Parts of WebAssembly that Firefox can switch off. The engines' WASM files have shared memory, also with one thread. */
describe.each(selectedBrowsers().filter(({ name }) => name === 'firefox'))('$name', () => {
  let site: AlteredSite;
  let tab: SiteTab;

  beforeAll(async () => {
    const browser = await launchFirefox({ preferences: { 'javascript.options.shared_memory': false } });
    site = await AlteredSite.start(inject('siteUrl'));
    tab = await SiteTab.open(browser, site.url, {});
    return () => browser.close();
  });

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

  test('without relaxed SIMD, as in Firefox before 145: a chat on the compatibility build', async () => {
    const older = await launchFirefox({ preferences: { 'javascript.options.wasm_relaxed_simd': false } });
    onTestFinished(() => older.close());
    const page = await SiteTab.open(older, site.url, {});
    const run = await page.run({ model: 'amber-phoenix-4', max_tokens: 4 }, 120_000);
    expect(run).toMatchObject({ usage: { completion_tokens: 4 }, error: null });
    expect(site.asked.some((path) => path.includes('wllama-compat'))).toBe(true);
  });
});
