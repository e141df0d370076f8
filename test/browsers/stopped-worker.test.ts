import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { selectedBrowsers } from './support/browsers.ts';
import { counted, SiteTab } from './support/site-tab.ts';
import type { Browser } from './support/driver.ts';

/** The service worker tells when it was started. */
const TELL = `const started = performance.timeOrigin + performance.now();
addEventListener('message', ({ data, ports: [port] }) => data === 'started?' && port.postMessage(started));`;

describe.each(selectedBrowsers())('$name', ({ launch }) => {
  let browser: Browser;
  let site: AlteredSite;

  beforeAll(async () => {
    [browser, site] = await Promise.all([
      launch({ stopsIdleWorkers: true }),
      AlteredSite.start(inject('siteUrl')),
    ]);
    site.files.set('/localtext-sw.js', (text) => `${text}\n${TELL}`);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.stop();
  });

  test('a service worker that was stopped while idle answers the next request', async () => {
    const tab = await SiteTab.open(browser, site.url);
    expect(await tab.run({ max_tokens: 3 })).toMatchObject({ text: { 0: counted(3) } });
    const before = await tab.workerStarted();
    await tab.stopServiceWorker(browser);
    expect(await tab.run({ max_tokens: 3 })).toMatchObject({ text: { 0: counted(3) }, error: null });
    expect(await tab.workerStarted()).toBeGreaterThan(before);
  });
});
