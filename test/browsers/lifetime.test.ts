import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';

import type { Catalog } from '../../src/catalog/catalog.ts';
import type { LocaltextError } from '../../src/index.ts';
import { wasmNames } from '../../src/node/wasm-files.ts';
import { AlteredSite } from '../support/altered-site.ts';
import {
  answerPage,
  deployBuild,
  deployRemoval,
  leftInBrowser,
  lookForUpdate,
  PAGE,
  WRONG_PAGES,
} from '../support/site-builds.ts';
import { smallChat } from '../support/small-chat.ts';
import { selectedBrowsers } from './support/browsers.ts';
import { waitFor, type Browser, type Tab } from './support/driver.ts';

describe.each(selectedBrowsers())('$name', ({ name: browserName, launch }) => {
  let browser: Browser;
  let site: AlteredSite;
  const tabs: Tab[] = [];

  beforeAll(async () => {
    browser = await launch({ computesLittle: true });
  });
  // Each test has another origin, and so its own service worker.
  beforeEach(async () => {
    site = await AlteredSite.start(inject('siteUrl'));
  });
  afterEach(async () => {
    for (const tab of tabs.splice(0)) await tab.close();
    await site.stop();
  });
  afterAll(() => browser?.close());

  async function open(catalog?: Catalog, hash = ''): Promise<Tab> {
    const tab = await browser.open(site.url + PAGE + hash);
    tabs.push(tab);
    await start(tab, catalog);
    return tab;
  }
  const title = (tab: Tab): Promise<string> => tab.evaluate(() => document.title);

  test('a build takes effect only if the server has all of it, and the earlier one stays whole', async () => {
    await deployBuild(site, 'first');
    const tab = await open();
    await deployBuild(site, 'second');
    site.handlers.set('/sign-in', (_, answer) => answerPage(answer, 'Log in'));
    for (const answerWrongly of WRONG_PAGES) {
      site.handlers.set(PAGE, (_, answer) => answerWrongly(answer));
      expect(await tab.evaluate(lookForUpdate), answerWrongly.toString()).toBe(false);
    }
    await tab.reload();
    expect(await title(tab)).toBe('first');
    site.handlers.delete(PAGE);
    expect(await tab.evaluate(lookForUpdate)).toBe(true);
    await start(tab);
    await tab.evaluate(() => window.lifetime.handle().update());
    await tab.reload();
    expect(await title(tab)).toBe('second');
  });

  test.each([false, true])('a page that comes back leads again; worker replaced: %s', async (replaced) => {
    const tab = await open();
    await tab.evaluate(() => void ((window as { kept?: true }).kept = true));
    await tab.goto(`${site.url}/test-page.html?elsewhere`);
    const replace = async (): Promise<void> => {
      const registration = await navigator.serviceWorker.ready;
      await registration.unregister();
      await navigator.serviceWorker.register(registration.active?.scriptURL ?? '');
    };
    if (replaced) await tab.evaluate(replace);
    await tab.evaluate(() => void setTimeout(() => history.back()));
    await expect.poll(() => tab.evaluate(() => 'lifetime' in window).catch(() => false)).toBe(true);
    const isKept = await tab.evaluate(() => 'kept' in window);
    expect(isKept || browserName !== 'webkit').toBe(true);
    if (!isKept) await start(tab);
    await expect.poll(() => tab.evaluate(async () => (await fetch('/v1/models')).status)).toBe(401);
    await tab.evaluate(() => window.lifetime.handle().ready('amber-phoenix-4'));
    expect((await tab.evaluate(() => window.lifetime.handle().status())).leader).toBe(true);
  });

  test('an engine’s file that was answered by a page is not stored', async () => {
    const path = `/localtext/wasm/${(await wasmNames())['wllama.wasm']}`;
    const tab = await open();
    const begin = (): Promise<string> =>
      tab.evaluate(async (url) => (await (await fetch(url)).text()).slice(1, 4), path);
    site.handlers.set(path, (_, answer) => answerPage(answer, 'Welcome'));
    expect(await begin()).toBe('!do');
    site.handlers.delete(path);
    expect(await begin()).toBe('asm');
    site.handlers.set(path, (_, answer) => answer.writeHead(503).end());
    await expect.poll(begin).toBe('asm');
  });

  test('a tab whose build the server no longer has is told to reload', async () => {
    const { catalog, serve } = await smallChat();
    serve(site);
    const names = Object.values(await wasmNames());
    const tab = await open(catalog);
    for (const name of names)
      site.handlers.set(`/localtext/wasm/${name}`, (_, answer) => answer.writeHead(404).end());
    site.files.set('/localtext-sw-files.js', (text) =>
      names.reduce((list, name) => list.replaceAll(name, `another-${name.slice(-4)}`), text),
    );
    const code = await tab.evaluate(() =>
      window.lifetime
        .handle()
        .ready('amber-phoenix-4')
        .then(String, (error: LocaltextError) => error.code),
    );
    expect(code).toBe('build_replaced');
    expect((await tab.evaluate(() => window.lifetime.handle().status())).buildReplaced).toBe(true);
  });

  const removals = [
    ['caches', { workers: 0, files: 0, databases: ['localtext'], weights: true }],
    ['all', { workers: 0, files: 0, databases: [], weights: false }],
  ] as const;
  test.each(removals)('a site without localtext, open in two tabs: --remove=%s', async (what, left) => {
    const [tab, other] = [await open(), await open(undefined, '#/x')];
    await tab.evaluate(async () => {
      await caches.open('localtext-weights');
      // WebKit's automated windows have no folder, nor the object that it is asked of.
      const getRoot = async () => navigator.storage.getDirectory();
      const root = await getRoot().catch(() => null);
      await root?.getDirectoryHandle('localtext', { create: true });
    });
    const keys = await tab.evaluate(storedKeys);
    expect(keys).toBeGreaterThan(0);
    await deployRemoval(site, what);
    await tab.evaluate(() => void navigator.serviceWorker.ready.then((worker) => worker.update()));
    // A page that is being replaced cannot be asked.
    for (const each of [tab, other])
      await expect.poll(() => title(each).catch(String), { timeout: 30_000 }).toBe('without');
    expect(await other.evaluate(() => location.hash)).toBe('#/x');
    // A page stores the site's settings again, and WebKit ends the worker before it deletes them once more.
    const restored = browserName === 'webkit' && what === 'all';
    const expected = restored ? { ...left, databases: expect.any(Array) as string[] } : left;
    await expect.poll(() => tab.evaluate(leftInBrowser)).toEqual(expected);
    expect(await tab.evaluate(storedKeys)).toBe(what === 'all' ? 0 : keys);
  });
});

async function start(tab: Tab, catalog?: Catalog): Promise<void> {
  await waitFor(tab, () => 'lifetime' in window);
  await tab.evaluate(async (given) => {
    const options = given ? { catalog: given } : { workerUrl: '/counting-worker.js' };
    await window.lifetime.start({ isolation: [], ...options });
  }, catalog ?? null);
}

/** Number of stored keys. */
async function storedKeys(): Promise<number> {
  const databases = await indexedDB.databases();
  if (!databases.some(({ name }) => name === 'localtext')) return 0;
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open('localtext');
    opening.onerror = () => reject(opening.error as DOMException);
    opening.onsuccess = () => {
      const counting = opening.result.transaction('keys').objectStore('keys').count();
      counting.onsuccess = () => resolve(counting.result);
      opening.result.close();
    };
  });
}
