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
  afterAll(() => browser?.close());

  test('a service worker that was stopped while idle answers the next request', async () => {
    const tab = await SiteTab.open(browser, site.url);
    expect(await tab.run({ max_tokens: 3 })).toMatchObject({ text: { 0: counted(3) } });
    const before = await tab.workerStarted();
    await tab.stopServiceWorker(browser);
    expect(await tab.run({ max_tokens: 3 })).toMatchObject({ text: { 0: counted(3) }, error: null });
    expect(await tab.workerStarted()).toBeGreaterThan(before);
  });
});

/** Milliseconds: without events, and with a request that has not ended, Firefox stops a service worker after 30 s each. */
const LONGEST_IDLE_MS = 60_000;
/** The engine counts one token in 20 ms. */
const TOKENS = (1.2 * LONGEST_IDLE_MS) / 20;

describe.each(selectedBrowsers().filter(({ name }) => name === 'firefox'))('$name', ({ launch }) => {
  test('replies that take longer than both idle times of a service worker are whole', async () => {
    const [browser, site] = await Promise.all([launch(), AlteredSite.start(inject('siteUrl'))]);
    try {
      const tab = await SiteTab.open(browser, site.url);
      const whole = { text: { 0: counted(TOKENS) }, error: null };
      const runs = [
        await tab.begin({ max_tokens: TOKENS }),
        await tab.begin({ max_tokens: TOKENS, stream: false }),
      ];
      for (const run of runs) expect(await tab.ended(run, 3 * LONGEST_IDLE_MS)).toMatchObject(whole);
    } finally {
      await browser.close();
      await site.stop();
    }
  });
});
