import type { Page } from 'playwright';
import { expect, test } from 'vitest';

import { stopServiceWorker } from '../../support/service-worker-control.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import { PAGE } from './support/tab.ts';

const SERVICE_WORKER = '/localtext-sw.js';
const lent = siteOfTabs();

/** Milliseconds until the headers of GET /v1/models. */
const headersIn = (page: Page, key: string): Promise<number> =>
  page.evaluate(async (apiKey) => {
    const start = performance.now();
    await fetch('/v1/models', { headers: { authorization: `Bearer ${apiKey}` } });
    return performance.now() - start;
  }, key);

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

test('stopped while idle: the next request answers, almost as soon', async () => {
  const { page, key } = await lent.open();
  const [warm, cold]: number[][] = [[], []];
  for (let round = 0; round < 7; round++) {
    await headersIn(page, key);
    warm?.push(await headersIn(page, key));
    await stopServiceWorker(page);
    cold?.push(await headersIn(page, key));
  }
  const [warmMs, coldMs] = [median(warm ?? []), median(cold ?? [])];
  console.log(`GET /v1/models: ${warmMs.toFixed(1)} ms warm, ${coldMs.toFixed(1)} ms from a stopped worker`);
  expect(coldMs).toBeLessThan(500);
  await page.close();
});

test('killed in mid-stream: the client sees it, and the engine is free', async () => {
  const tab = await lent.open();
  await tab.run(counting({ max_tokens: 2 }));
  const free: number[] = [];
  for (let round = 0; round < 3; round++) {
    const name = await tab.begin(counting({ max_tokens: 60 }));
    await tab.deltas(name, 3);
    const at = Date.now();
    await stopServiceWorker(tab.page);
    const run = await tab.ended(name, 5000);
    free.push((await tab.untilFree()) - at);
    expect(run.error?.code).toBeNull();
    expect(run.finish).toEqual({});
  }
  console.log(`engine free ${free.join(', ')} ms after the service worker was killed (stopping it included)`);
  expect(Math.min(...free)).toBeLessThan(1000);
  expect((await tab.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
  await tab.page.close();
});

test('a new version waits until no request runs, and the page hears of it', async () => {
  const [tab, other] = [await lent.open(), await lent.open()];
  const undisturbed = await tab.run(counting({ max_tokens: 40 }));
  lent.site.files.set(SERVICE_WORKER, (text) => `${text}\n// another version`);
  const name = await other.begin(counting({ max_tokens: 40 }));
  await other.deltas(name, 2);
  await tab.page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.update());
  await expect.poll(() => tab.page.evaluate(() => window.lifetime.events.update)).toBe(1);
  await expect.poll(() => other.page.evaluate(() => window.lifetime.events.update)).toBe(1);
  expect((await tab.status()).updateWaiting).toBe(true);
  const updated = tab.page.evaluate(
    async () => [await window.lifetime.handle().update(), Date.now()] as const,
  );
  const run = await other.ended(name);
  const endedAt = await other.page.evaluate((ms) => performance.timeOrigin + ms, run.endedAt ?? 0);
  expect(run.text).toEqual(undisturbed.text);
  const [done, at] = await updated;
  expect(done).toBe(true);
  expect(at).toBeGreaterThan(endedAt);
  expect((await tab.status()).updateWaiting).toBe(false);
  expect((await other.run(counting({ max_tokens: 2 }))).error).toBeNull();
  expect(await tab.page.evaluate(() => window.lifetime.handle().update())).toBe(false);
  lent.site.files.delete(SERVICE_WORKER);
  await tab.page.close();
  await other.page.close();
});

test('a page that was open before, a reload past the cache, and its first visit get control without a reload', async () => {
  const context = lent.context;
  const early = await lent.open({ start: 'none' });
  await early.page.evaluate(async () => {
    for (const registration of await navigator.serviceWorker.getRegistrations())
      await registration.unregister();
  });
  await early.page.reload();
  const controlled = (): Promise<boolean> =>
    early.page.evaluate(() => navigator.serviceWorker.controller !== null);
  expect(await controlled()).toBe(false);
  const marked = (): Promise<unknown> => early.page.evaluate(() => (window as { mark?: number }).mark);
  await early.page.evaluate(() => ((window as { mark?: number }).mark = 1));
  await early.start();
  expect(await controlled()).toBe(true);
  expect(await marked()).toBe(1);

  const session = await context.newCDPSession(early.page);
  const loaded = early.page.waitForEvent('load');
  await session.send('Page.reload', { ignoreCache: true });
  await loaded;
  await early.page.waitForFunction(() => 'lifetime' in window);
  expect(await controlled()).toBe(false);
  await early.start();
  expect(await controlled()).toBe(true);
  expect((await early.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
  await early.page.close();
});

test('where the host sends no headers, it isolates pages from the next visit on', async () => {
  const tab = await lent.open({ isolation: 'next-visit' });
  expect(await tab.page.evaluate(() => crossOriginIsolated)).toBe(false);
  await tab.page.goto(lent.site.url + PAGE);
  expect(await tab.page.evaluate(() => crossOriginIsolated)).toBe(true);
  await tab.start({ isolation: 'next-visit' });
  expect((await tab.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
  await tab.page.close();
});

test('a service worker of another version is told from one that works', async () => {
  // One that speaks for itself: it answers on the port, as every version does, with a version that does not exist.
  lent.site.files.set(
    '/foreign-sw.js',
    () => `
      self.addEventListener('install', () => self.skipWaiting());
      self.addEventListener('message', (event) => {
        if (event.data?.type === 'localtext:claim')
          event.waitUntil(self.clients.claim().then(() => event.ports[0].postMessage({ type: 'ok', version: 0 })));
      });
      self.addEventListener('fetch', (event) => {
        if (!event.request.url.endsWith('/ask-the-leader')) return;
        event.respondWith((async () => {
          const { port1, port2 } = new MessageChannel();
          const answer = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
          const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
          for (const client of windows)
            client.postMessage({ type: 'localtext:need-engine', version: 0 }, client === windows[0] ? [port2] : []);
          return Response.json(await answer);
        })());
      });`,
  );
  const page = (await lent.open({ start: 'none' })).page;
  const refusal = await page.evaluate(async () => {
    try {
      await window.lifetime.start({ serviceWorker: { url: '/foreign-sw.js', scope: '/lifetime-page.html' } });
      return null;
    } catch (error) {
      const { code, message } = error as Error & { code: string };
      return { code, message };
    }
  });
  expect(refusal).toMatchObject({ code: 'protocol_mismatch' });
  expect(refusal?.message).toContain('Reload every tab');
  await page.close();
});
