import { expect, inject, test } from 'vitest';

import { deployRemoval, leftInBrowser, PAGE } from '../../support/site-builds.ts';
import { siteOfTabs } from './support/site-of-tabs.ts';
import type { Tab } from './support/tab.ts';

const lent = siteOfTabs({}, []);
const left = ({ page }: Tab) => page.evaluate(leftInBrowser);
/** Has the browser look for a new version, as at a visit. */
const look = ({ page }: Tab): Promise<void> =>
  page.evaluate(() => void navigator.serviceWorker.ready.then((worker) => worker.update()));

test.each([
  ['caches', { workers: 0, files: 0, databases: ['localtext'], weights: true }],
  ['all', { workers: 0, files: 0, databases: [], weights: false }],
] as const)(
  'a site without localtext, open in two tabs, during a load: --remove=%s',
  async (what, expected) => {
    lent.site.files.clear();
    const [tab, other] = [await lent.open(), await lent.open()];
    await deployRemoval(lent.site, what);
    // Its page reads the status at the end, when the earlier worker could stop.
    await tab.page.evaluate(() => void window.lifetime.handle().ready('jade-mole-4'));
    await look(other);
    for (const { page } of [tab, other]) await page.waitForFunction(() => document.title === 'without');
    await expect.poll(() => left(tab)).toEqual(expected);
  },
);

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
