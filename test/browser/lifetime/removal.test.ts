import { expect, inject, test } from 'vitest';

import { answerPage, deployRemoval, leftInBrowser, PAGE } from '../../support/site-builds.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import type { Tab } from './support/tab.ts';

const lent = siteOfTabs({}, []);
const left = ({ page }: Tab) => page.evaluate(leftInBrowser);
/** Has the browser look for a new version, as at a visit. */
const look = ({ page }: Tab): Promise<void> =>
  page.evaluate(() => void navigator.serviceWorker.ready.then((worker) => worker.update()));

test('a running stream completes before localtext is removed', async () => {
  lent.site.files.clear();
  const [tab, asker] = [await lent.open(), await lent.open()];
  const name = await asker.begin(counting());
  await asker.deltas(name, 2);
  await deployRemoval(lent.site, 'all');
  await look(tab);
  expect(await asker.ended(name)).toMatchObject({ error: null, deltas: 24 });
  for (const { page } of [tab, asker]) await page.waitForFunction(() => document.title === 'without');
  await expect.poll(() => left(tab)).toEqual({ workers: 0, files: 0, databases: [], weights: false });
});

test('an old page that registers it again is not reloaded over and over', async () => {
  const old = await (await fetch(inject('siteUrl') + PAGE)).text();
  lent.site.files.clear();
  const tab = await lent.open();
  await deployRemoval(lent.site, 'caches', old);
  await tab.page.evaluate(() => ((window as { mark?: number }).mark = 1));
  await look(tab);
  await tab.page.waitForFunction(() => 'lifetime' in window && !('mark' in window));
  await tab.page.evaluate(() => ((window as { mark?: number }).mark = 2));
  await expect(tab.start()).rejects.toThrow();
  await expect.poll(() => left(tab)).toMatchObject({ workers: 0, files: 0 });
  expect(await tab.page.evaluate(() => (window as { mark?: number }).mark)).toBe(2);
});

test('a service worker of another name is removed by the script in its place', async () => {
  lent.site.files.clear();
  const script = await (await fetch(`${inject('siteUrl')}/localtext-sw.js`)).text();
  lent.site.files.set('/lt.js', () => script);
  const tab = await lent.open({ start: 'none' });
  await tab.page.evaluate(() => window.lifetime.start({ isolation: [], serviceWorker: { url: '/lt.js' } }));
  await deployRemoval(lent.site, 'caches', undefined, '/lt.js');
  await look(tab);
  await tab.page.waitForFunction(() => document.title === 'without');
  await expect.poll(() => left(tab)).toMatchObject({ workers: 0, files: 0 });
});

test.each(['caches', 'all'] as const)(
  'a worker of the site’s that imports the script stays: --remove=%s',
  async (what) => {
    lent.site.files.clear();
    const own = `addEventListener('install', () => skipWaiting()); importScripts('/localtext-sw-import.js');`;
    // Without the site's headers, whose policy requires Trusted Types.
    lent.site.handlers.set('/own.js', (_, answer) =>
      answer.writeHead(200, { 'content-type': 'text/javascript' }).end(own),
    );
    lent.site.files.set('/localtext-sw-import.js', () => '');
    const tab = await lent.open({ start: 'none' });
    await tab.page.evaluate(async () => {
      await navigator.serviceWorker.register('/own.js', { updateViaCache: 'none' });
      await navigator.serviceWorker.ready;
      for (const kind of ['small', 'large']) await caches.open(`localtext-${kind}-files ${location.origin}/`);
      await caches.open('localtext-weights');
      await caches.open('of-the-site');
      await new Promise((resolve) => {
        const opening = indexedDB.open('localtext');
        opening.onsuccess = () => resolve(opening.result.close());
      });
    });
    await deployRemoval(lent.site, what);
    await look(tab);
    const isAll = what === 'all';
    const expected = { workers: 1, files: 0, databases: isAll ? [] : ['localtext'], weights: !isAll };
    await expect.poll(() => left(tab)).toEqual(expected);
    const kept = await tab.page.evaluate(async () => {
      await (await navigator.serviceWorker.ready).unregister();
      return caches.delete('of-the-site');
    });
    expect(kept).toBe(true);
    expect(await tab.page.title()).not.toBe('without');
  },
);

test('an app that has moved: its former address leads to the new one, all but the removal worker', async () => {
  lent.site.files.clear();
  const tab = await lent.open();
  await deployRemoval(lent.site, 'caches');
  lent.site.handlers.set(PAGE, (_, answer) => answer.writeHead(302, { location: '/app/' }).end());
  lent.site.handlers.set('/app/', (_, answer) => answerPage(answer, 'moved'));
  await look(tab);
  await tab.page.waitForFunction(() => document.title === 'moved');
  lent.site.handlers.clear();
  await expect.poll(() => left(tab)).toMatchObject({ workers: 0, files: 0, weights: true });
});

test('a tab with an open dialog does not hold up --remove=all', async () => {
  lent.site.files.clear();
  const [tab, blocked] = [await lent.open(), await lent.open()];
  // Chromium looks for no other version while it registers a worker for a page that has a dialog open.
  await blocked.page.evaluate(async () =>
    (await navigator.serviceWorker.ready).update().then(() => undefined),
  );
  const opened = blocked.page.waitForEvent('dialog');
  void blocked.page.evaluate(() => alert('Are you sure?')).catch(() => undefined);
  await opened;
  await deployRemoval(lent.site, 'all');
  await look(tab);
  await tab.page.waitForFunction(() => document.title === 'without');
  const nothing = { workers: 0, files: 0, databases: [], weights: false };
  await expect.poll(() => left(tab), { timeout: 30_000 }).toEqual(nothing);
});

test('a site that has localtext again starts it while a tab of before is still open', async () => {
  lent.site.files.clear();
  const [tab, old] = [await lent.open(), await lent.open()];
  // It asks before it is reloaded, and its user stays.
  old.page.on('dialog', (dialog) => void dialog.dismiss());
  await old.page.evaluate(() => addEventListener('beforeunload', (event) => event.preventDefault()));
  await old.page.mouse.click(5, 5);
  await deployRemoval(lent.site, 'caches');
  await look(tab);
  await tab.page.waitForFunction(() => document.title === 'without');
  lent.site.files.clear();
  await tab.page.reload();
  await tab.page.waitForFunction(() => 'lifetime' in window);
  await tab.start();
  expect(await left(tab)).toMatchObject({ workers: 1 });
  expect(await old.page.title()).not.toBe('without');
});

test('--remove=all leaves another app of the origin what it has', async () => {
  lent.site.files.clear();
  const tab = await lent.open();
  await tab.page.evaluate(async () => {
    await caches.open(`localtext-small-files ${location.origin}/other/`);
    await (await navigator.storage.getDirectory()).getDirectoryHandle('localtext', { create: true });
    await new Promise((resolve) => (indexedDB.open('localtext/other/').onsuccess = resolve));
  });
  await deployRemoval(lent.site, 'all');
  await look(tab);
  await tab.page.waitForFunction(() => document.title === 'without');
  const expected = { workers: 0, files: 1, databases: ['localtext/other/'], weights: true };
  await expect.poll(() => left(tab)).toEqual(expected);
});
