/// <reference types="dom-chromium-ai" />
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { StaticSite } from '../support/static-site.ts';
import { selectedBrowsers } from './support/browsers.ts';
import { waitFor, type Browser, type Tab } from './support/driver.ts';

describe.each(selectedBrowsers())('$name', ({ launch }) => {
  let browser: Browser;
  let site: StaticSite;
  let tab: Tab;

  beforeAll(async () => {
    [browser, site] = await Promise.all([launch({ computesLittle: true }), StaticSite.start()]);
    tab = await browser.open(`${site.url}/language-model-page.html`);
    await waitFor(tab, () => 'LanguageModel' in window);
  });
  afterAll(() => browser?.close());

  test('LanguageModel downloads, streams, follows an expression, and aborts', async () => {
    expect(await tab.evaluate(() => LanguageModel.availability())).toBe('downloadable');
    // WebKit runs scripts of its driver without the activation that a download needs.
    await tab.press('Tab');
    const result = await tab.evaluate(async () => {
      const shares: number[] = [];
      const session = await LanguageModel.create({
        samplingMode: 'most-predictable',
        monitor: (monitor) =>
          monitor.addEventListener('downloadprogress', ({ loaded }) => shares.push(loaded)),
      });
      let streamed = '';
      const reader = session.promptStreaming('Say hello.').getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read()) streamed += read.value;
      const responseConstraint = /^(yes|no)$/ as object as Record<string, unknown>;
      const answer = await session.prompt('Is Paris in France?', { responseConstraint });
      const abort = new AbortController();
      const aborted = session.prompt('Go on.', { signal: abort.signal }).catch((error: Error) => error.name);
      abort.abort();
      const used = session.contextUsage;
      return { shares: [shares[0], shares.at(-1)], streamed, answer, aborted: await aborted, used };
    });
    expect(result).toMatchObject({ shares: [0, 1], aborted: 'AbortError' });
    expect(result.streamed).toMatch(/\w/);
    expect(result.answer).toMatch(/^(yes|no)$/);
    expect(result.used).toBeGreaterThan(20);
  });
});
