import { rolldown } from 'rolldown';
import { beforeAll, expect, inject, test } from 'vitest';

import { siteOfTabs } from './support/site-of-tabs.ts';
import { PAGE, type Tab } from './support/tab.ts';

const lent = siteOfTabs({}, []);
let script = '';

beforeAll(async () => {
  const bundle = await rolldown({ input: 'sw/remove.ts', platform: 'browser' });
  script = (await bundle.generate({ format: 'iife' })).output[0].code;
});

/** Deploys the site without localtext. */
function remove(what: 'caches' | 'all', page = '<!doctype html><title>without</title>'): void {
  lent.site.files.set('/localtext-sw.js', () => `self.__LOCALTEXT_REMOVE__='${what}';${script}`);
  lent.site.files.set(PAGE, () => page);
}

/** What a visitor's browser has of localtext. */
const left = ({ page }: Tab) =>
  page.evaluate(async () => {
    const folder = await navigator.storage.getDirectory();
    return {
      workers: (await navigator.serviceWorker.getRegistrations()).length,
      // The weights have a separate cache, which `caches` keeps.
      files: (await caches.keys()).filter((name) => /^localtext-(?!weights$)/.test(name)).length,
      databases: (await indexedDB.databases()).filter(({ name }) => name === 'localtext').length,
      weights: await folder.getDirectoryHandle('localtext').then(
        () => true,
        () => false,
      ),
    };
  });

test.each([
  ['caches', { workers: 0, files: 0, databases: 1, weights: true }],
  ['all', { workers: 0, files: 0, databases: 0, weights: false }],
] as const)('a site without localtext: --remove=%s', async (what, expected) => {
  lent.site.files.clear();
  const tab = await lent.open();
  await tab.load(['jade-mole-4']);
  remove(what);
  // As the browser does at a visit.
  await tab.page.evaluate(() => void navigator.serviceWorker.ready.then((worker) => worker.update()));
  await tab.page.waitForFunction(() => document.title === 'without');
  await expect.poll(() => left(tab)).toEqual(expected);
});

test('an old page that registers it again is not reloaded over and over', async () => {
  const old = await (await fetch(inject('siteUrl') + PAGE)).text();
  lent.site.files.clear();
  const tab = await lent.open();
  remove('caches', old);
  await tab.page.evaluate(() => ((window as { mark?: number }).mark = 1));
  await tab.page.evaluate(() => void navigator.serviceWorker.ready.then((worker) => worker.update()));
  await tab.page.waitForFunction(() => 'lifetime' in window && !('mark' in window));
  await tab.page.evaluate(() => ((window as { mark?: number }).mark = 2));
  await expect(tab.start()).rejects.toThrow();
  await expect.poll(() => left(tab)).toMatchObject({ workers: 0, files: 0 });
  expect(await tab.page.evaluate(() => (window as { mark?: number }).mark)).toBe(2);
});
