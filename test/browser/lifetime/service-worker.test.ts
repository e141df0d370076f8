import type { Page } from 'playwright';
import { expect, test } from 'vitest';

import { killEngine, killServiceWorker } from './support/kill.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import { unregisterAll } from './support/unregister.ts';

const SERVICE_WORKER = '/localtext-sw.js';
const lent = siteOfTabs();

const statusOfModels = (page: Page, key: string): Promise<number> =>
  page.evaluate(async (apiKey) => {
    const { status } = await fetch('/v1/models', { headers: { authorization: `Bearer ${apiKey}` } });
    return status;
  }, key);

test('stopped while idle: the next request is answered', async () => {
  const { page, key } = await lent.open();
  for (let round = 0; round < 3; round++) {
    expect(await statusOfModels(page, key)).toBe(200);
    await killServiceWorker(page);
    expect(await statusOfModels(page, key)).toBe(200);
  }
});

test('killed in mid-stream: the client sees it, and the engine is free', async () => {
  const tab = await lent.open();
  await tab.run(counting({ max_tokens: 2 }));
  const free: number[] = [];
  for (let round = 0; round < 3; round++) {
    const name = await tab.begin(counting({ max_tokens: 60 }));
    await tab.deltas(name, 3);
    const at = Date.now();
    await killServiceWorker(tab.page);
    const run = await tab.ended(name, 5000);
    free.push((await tab.untilFree()) - at);
    expect(run.error?.code).toBeNull();
    expect(run.finish).toEqual({});
  }
  console.log(`engine free ${free.join(', ')} ms after the service worker was killed (stopping it included)`);
  expect(Math.min(...free)).toBeLessThan(1000);
  expect((await tab.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});

test('killed while a model loads: ready() resolves all the same', async () => {
  const tab = await lent.open();
  await tab.load();
  await killEngine(lent.kept.page);
  const loaded = tab.load();
  await expect
    .poll(async () => (await tab.status()).models.some(({ state }) => state === 'loading'), { interval: 10 })
    .toBe(true);
  await killServiceWorker(tab.page);
  await loaded;
  const { models } = await tab.status();
  expect(models.find(({ id }) => id === 'jade-mole-4')).toMatchObject({ state: 'ready' });
});

test('a new version waits until no request runs, and the page hears of it', async () => {
  const [tab, other] = [await lent.open(), await lent.open()];
  const undisturbed = await tab.run(counting({ max_tokens: 40 }));
  // A second try needs one that the first has not installed.
  const version = Date.now();
  lent.site.files.set(SERVICE_WORKER, (text) => `${text}\n// version ${version}`);
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
});

test('a page that was open before, a reload past the cache, and its first visit get control without a reload', async () => {
  const context = lent.context;
  await lent.leave();
  const early = await lent.open({ start: 'none' });
  await unregisterAll(early.page);
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
});

/** One of a version that never was: it takes control, says its version, and asks the leader on behalf of a page. */
const FOREIGN = `
  self.addEventListener('install', () => self.skipWaiting());
  self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
  self.addEventListener('message', async ({ data, ports: [port] }) => {
    if (data?.type === 'localtext:claim' || data?.type === 'localtext:version') port.postMessage({ type: 'ok', version: 0 });
    if (data !== 'ask the leader') return;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = (event) => port.postMessage(event.data);
    const [client] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
    client.postMessage({ type: 'localtext:need-engine', version: 0 }, [port2]);
  });`;

test('of another version: both sides say so, and a newer one takes its place where there is one', async () => {
  await lent.renew();
  lent.site.files.set('/foreign-sw.js', () => FOREIGN);
  const tab = await lent.open();
  const refusal = await tab.page.evaluate(async () => {
    const { active, installing } = await navigator.serviceWorker.register('/foreign-sw.js', {
      scope: '/elsewhere/',
    });
    const worker = active ?? installing;
    if (worker?.state !== 'activated')
      await new Promise((resolve) =>
        worker?.addEventListener('statechange', () => worker.state === 'activated' && resolve(null)),
      );
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
    worker?.postMessage('ask the leader', [port2]);
    return answer;
  });
  expect(refusal).toMatchObject({ type: 'error', error: { code: 'protocol_mismatch' } });

  await lent.renew();
  lent.site.files.set(SERVICE_WORKER, () => FOREIGN);
  const early = await lent.open({ start: 'none' });
  await expect(early.start()).rejects.toThrow(/different versions. Reload every tab/);
  lent.site.files.delete(SERVICE_WORKER);
  await early.page.reload();
  await early.start();
  expect((await early.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});
