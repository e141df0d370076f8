import type { Page } from 'playwright';
import { expect, test } from 'vitest';

import { stopServiceWorker } from '../../support/service-worker-control.ts';
import { killEngine } from './support/kill.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import { unregisterAll } from './support/unregister.ts';
import { send } from '../../support/send.ts';

const SERVICE_WORKER = '/localtext-sw.js';
const lent = siteOfTabs();

const statusOfModels = async (page: Page, key: string) => (await send(page, key, '/v1/models')).status;

test('a revoked key fails at once: in two tabs, and after a restart', async () => {
  const [tab, other] = [await lent.open(), await lent.open()];
  for (let round = 0; round < 5; round++) {
    const issued = await tab.page.evaluate(() => window.lifetime.handle().keys.issue({ label: 'brief' }));
    for (const { page } of [tab, other]) expect(await statusOfModels(page, issued.key)).toBe(200);
    if (round === 4) await stopServiceWorker(tab.page);
    await other.page.evaluate((id) => window.lifetime.handle().keys.revoke(id), issued.id);
    for (const { page } of [tab, other]) expect(await statusOfModels(page, issued.key)).toBe(401);
    await stopServiceWorker(tab.page);
    expect(await statusOfModels(other.page, issued.key)).toBe(401);
  }
});

test('killed in mid-stream: the client sees it, and the engine is free', async () => {
  const tab = await lent.open();
  await tab.run(counting({ max_tokens: 2 }));
  for (let round = 0; round < 3; round++) {
    const name = await tab.begin(counting({ max_tokens: 60 }));
    await tab.deltas(name, 3);
    await stopServiceWorker(tab.page);
    const run = await tab.ended(name, 5000);
    await tab.untilFree();
    expect(run.error?.code).toBeNull();
    expect(run.finish).toEqual({});
  }
  expect((await tab.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});

test('killed while a model loads: ready() resolves all the same', async () => {
  const tab = await lent.open();
  await killEngine(lent.kept.page);
  const loads = await tab.page.evaluateHandle(async () => {
    let loaded = Promise.resolve();
    await new Promise<void>((resolve) => {
      const onProgress = ({ phase }: { phase: string }) => phase === 'load' && resolve();
      loaded = window.lifetime.handle().ready('jade-mole-4', { onProgress });
      loaded.then(resolve, resolve);
    });
    return { loaded };
  });
  await stopServiceWorker(tab.page);
  await loads.evaluate(({ loaded }) => loaded);
  const { models } = await tab.status();
  expect(models.find(({ id }) => id === 'jade-mole-4')).toMatchObject({ state: 'ready' });
});

test('a new version waits until no request runs, and is reported to the page', async () => {
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
