import type { ServerResponse } from 'node:http';

import type { BrowserContext } from 'playwright';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';

import { wasmNames } from '../../../src/node/wasm-files.ts';
import { AlteredSite } from '../../support/altered-site.ts';
import { launch } from '../../support/launch.ts';
import { answerPage, deployBuild, lookForUpdate, PAGE, WRONG_PAGES } from '../../support/site-builds.ts';
import { smallChat } from '../../support/small-chat.ts';
import { counting } from './support/site-of-tabs.ts';
import { Tab } from './support/tab.ts';

let context: BrowserContext;
let site: AlteredSite;

beforeAll(async () => {
  site = await AlteredSite.start(inject('siteUrl'));
  context = await launch();
});
afterEach(async () => {
  for (const page of context.pages().slice(1)) await page.close();
  site.files.clear();
  site.handlers.clear();
});

const look = ({ page }: Tab): Promise<boolean> => page.evaluate(lookForUpdate);

test('a build takes effect only if the server has all of it, and the earlier one stays whole', async () => {
  await deployBuild(site, 'first');
  const tab = await Tab.open(context, site.url);
  const title = async (): Promise<string> => {
    await tab.page.reload();
    return tab.page.title();
  };
  await deployBuild(site, 'second');
  site.handlers.set('/sign-in', (_, answer) => answerPage(answer, 'Log in'));
  for (const answerWrongly of WRONG_PAGES) {
    site.handlers.set(PAGE, (_, answer) => answerWrongly(answer));
    expect(await look(tab)).toBe(false);
    expect(await title()).toBe('first');
  }
  site.handlers.delete(PAGE);
  await tab.start();
  expect(await look(tab)).toBe(true);
  await tab.page.evaluate(() => window.lifetime.handle().update());
  expect(await title()).toBe('second');
});

test('a page that came with a redirect, or that the host alters, is stored if it is the build’s', async () => {
  await deployBuild(site, 'third');
  const altered = (await (await fetch(site.url + PAGE)).text()).replace(
    '</title>',
    '</title><script src="/statistics.js"></script>',
  );
  site.handlers.set('/moved', (_, answer) =>
    answer.writeHead(200, { 'content-type': 'text/html' }).end(altered),
  );
  site.handlers.set(PAGE, (_, answer) => answer.writeHead(301, { location: '/moved' }).end());
  const tab = await Tab.open(context, site.url, { start: 'none', path: '/test-page.html' });
  expect(await look(tab)).toBe(true);
});

test('an engine’s file that was answered once by a page is asked for again', async () => {
  const { catalog, serve } = await smallChat();
  serve(site);
  const wasm = `/localtext/wasm/${(await wasmNames())['wllama.wasm']}`;
  site.handlers.set(wasm, (_, answer) => answerPage(answer, 'Welcome'));
  const tab = await Tab.open(context, site.url, { catalog });
  await expect(tab.load(['amber-phoenix-4'])).rejects.toThrow(/is not a WebAssembly file/);
  site.handlers.delete(wasm);
  // A load that failed is not tried again at once.
  const loaded = (): Promise<string> => tab.load(['amber-phoenix-4']).then(() => 'loaded', String);
  await expect.poll(loaded).toBe('loaded');

  // A damaged entry, as of a browser that lost a part of its cache.
  await tab.page.evaluate(async (path) => {
    for (const name of await caches.keys()) {
      const cache = await caches.open(name);
      for (const { url } of await cache.keys())
        if (url.includes(path)) await cache.put(url, new Response('<!doctype html>'));
    }
  }, wasm);
  await tab.page.reload();
  await tab.page.waitForFunction(() => 'lifetime' in window);
  await tab.start();
  await tab.load(['amber-phoenix-4']);
});

test.each([
  ['answers 404', (answer: ServerResponse) => answer.writeHead(404).end('none')],
  ['answers its page', (answer: ServerResponse) => answerPage(answer, 'Welcome')],
])('a tab whose build the server no longer has is told to reload (it %s)', async (_, answerWrongly) => {
  const { catalog, serve } = await smallChat();
  // Nothing of it is in any cache.
  const fresh = await AlteredSite.start(inject('siteUrl'));
  serve(fresh);
  const names = Object.values(await wasmNames());
  const tab = await Tab.open(context, fresh.url, { catalog });
  for (const name of names)
    fresh.handlers.set(`/localtext/wasm/${name}`, (_asked, answer) => void answerWrongly(answer));
  fresh.files.set('/localtext-sw-files.js', (text) =>
    names.reduce((list, name) => list.replaceAll(name, `another-${name.slice(-4)}`), text),
  );
  expect((await tab.status()).buildReplaced).toBe(false);
  await expect(tab.load(['amber-phoenix-4'])).rejects.toThrow(/has a new build.*update\(\), then reload/);
  expect((await tab.status()).buildReplaced).toBe(true);
});

test.each([false, true])(
  'the next build isolates its pages otherwise (the first one: %s), and the site keeps answering',
  async (first) => {
    let isolated = first;
    const isolation = {
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    };
    // Its worker scripts are the same in both builds, and kept with the headers of the first one.
    const changing = await AlteredSite.start(inject('siteUrl'), {
      headers: (): Record<string, string> => (isolated ? isolation : {}),
    });
    const { catalog, serve } = await smallChat();
    serve(changing);
    await deployBuild(changing, 'fourth');
    const [old, tab] = [
      await Tab.open(context, changing.url, { catalog }),
      await Tab.open(context, changing.url, { catalog }),
    ];
    const reply = async (): Promise<unknown> => (await tab.run(counting({ max_tokens: 2 }))).error;
    expect(await reply()).toBeNull();
    isolated = !first;
    await deployBuild(changing, 'fifth');
    expect(await look(tab)).toBe(true);
    await tab.page.evaluate(() => window.lifetime.handle().update());
    await tab.page.reload();
    await tab.start();
    expect(await tab.page.evaluate(() => crossOriginIsolated)).toBe(isolated);
    expect(await reply()).toBeNull();
    await old.page.close();
    expect(await reply()).toBeNull();
    expect(await tab.leads()).toBe(true);
  },
);
