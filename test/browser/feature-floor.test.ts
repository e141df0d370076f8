import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { AlteredSite } from '../support/altered-site.ts';

/** A browser without one of the APIs: the page learns its name, or goes on without it. */

let context: BrowserContext;
let site: AlteredSite;

beforeAll(async () => {
  [context, site] = await Promise.all([launch(), AlteredSite.start(inject('siteUrl'))]);
});

/** A page of the site, in which this script has run before any other. */
async function pageAfter(script: string): Promise<Page> {
  const page = await context.newPage();
  await page.addInitScript(script);
  await page.goto(`${site.url}/lifetime-page.html`);
  return page;
}

const refusal = (page: Page, how: 'start' | 'startWithoutServiceWorker'): Promise<unknown> =>
  page.evaluate(async (name) => {
    try {
      await window.lifetime[name]();
      return null;
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      return { code, message };
    }
  }, how);

const refusingIndexedDb = (name: string): string =>
  `IDBFactory.prototype.open = () => { throw new DOMException('refused', '${name}'); };`;

test('where storage is refused, requests through createFetch() are answered with the reason', async () => {
  const page = await pageAfter(refusingIndexedDb('UnknownError'));
  await refusal(page, 'startWithoutServiceWorker');
  const error = await page.evaluate(async () => {
    window.lifetime.begin('refused', 'no key', { messages: [] });
    while (!window.lifetime.runs['refused']?.ended) await new Promise((resolve) => setTimeout(resolve, 20));
    return window.lifetime.runs['refused'].error;
  });
  expect(error).toMatchObject({ code: 'storage_unavailable', status: 500 });
  await page.close();
});

test.each([
  ['the Cache API', 'delete window.caches;', 'cache_unavailable'],
  ['service workers', 'delete Navigator.prototype.serviceWorker;', 'service_worker_unavailable'],
])('without %s, start() names createFetch(), which works', async (_what, script, code) => {
  const page = await pageAfter(script);
  expect(await refusal(page, 'start')).toEqual({ code, message: expect.stringContaining('createFetch()') });
  expect(await refusal(page, 'startWithoutServiceWorker')).toBeNull();
  await page.close();
});

test('where localStorage throws, start() works, and ready() with retry gives its own errors', async () => {
  const page = await pageAfter(
    `Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } });`,
  );
  expect(await refusal(page, 'start')).toBeNull();
  const failure = page.evaluate(() => window.lifetime.handle().ready('unknown-owl', { retry: true }));
  await expect(failure).rejects.toThrow('unknown-owl');
  await page.close();
});
