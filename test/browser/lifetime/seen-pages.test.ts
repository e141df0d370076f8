import type { BrowserContext } from 'playwright';
import { beforeAll, beforeEach, expect, inject, test } from 'vitest';

import { AlteredSite } from '../../support/altered-site.ts';
import { launch } from '../../support/launch.ts';
import { lookForUpdate, PAGE } from '../../support/site-builds.ts';
import { Tab } from './support/tab.ts';

/** Pages that a server renders. */

let context: BrowserContext;
let site: AlteredSite;
let renders = 0;

beforeAll(async () => {
  context = await launch();
});

beforeEach(async () => {
  for (const page of context.pages().slice(1)) await page.close();
  site = await AlteredSite.start(inject('siteUrl'));
  serveWorker('');
  const html = (await (await fetch(inject('siteUrl') + PAGE)).text()).replaceAll('./assets/', '/assets/');
  renders = 0;
  const render = (path: string, headers = {}): void =>
    void site.handlers.set(path, (_, answer) =>
      answer
        .writeHead(200, { 'content-type': 'text/html', ...headers })
        .end(
          html.replace(/<title>[^<]*/, `<title>${path} ${++renders}`) +
            '<script src="/part.js"></script><img src="/picture.png" alt="">',
        ),
    );
  for (const path of ['/', '/seen', '/seen?page=2', '/never']) render(path);
  render('/mine', { 'cache-control': 'private' });
  site.handlers.set('/part.js', (_, answer) =>
    answer.writeHead(200, { 'content-type': 'text/javascript' }).end(`document.title += ' with its part'`),
  );
});

/** Deploys a service worker of which each page comes from the server. */
function serveWorker(version: string): void {
  const prefix = `self.__LOCALTEXT_NETWORK_FIRST__={offlinePage:"${PAGE.slice(1)}"};/*${version}*/`;
  site.files.set('/localtext-sw.js', (text) => prefix + text);
}

const stored = ({ page }: Tab): Promise<string[]> =>
  page.evaluate(async () => {
    const name = (await caches.keys()).find((each) => each.startsWith('localtext-seen-pages'));
    if (name === undefined) return [];
    return (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname);
  });

test('without its server a site shows what was last seen, and starts there', async () => {
  const tab = await Tab.open(context, site.url, { path: '/' });
  const { url } = site;
  const titleOf = async (path: string): Promise<string> => {
    await tab.page.goto(url + path);
    return tab.page.title();
  };
  // The page of a first visit loaded before there was a service worker.
  await expect.poll(() => stored(tab)).toEqual(expect.arrayContaining(['/', '/part.js']));
  const before = renders;
  for (const path of ['/seen', '/seen', '/seen?page=2', '/mine'])
    expect(await titleOf(path)).toContain(`${path} ${renders} with its part`);
  expect(renders).toBe(before + 4);
  await expect.poll(() => stored(tab)).toHaveLength(4);
  await site.stop();
  expect(await titleOf('/')).toMatch(/^\/ \d+ with its part$/);
  expect(await titleOf('/seen')).toBe(`/seen ${before + 2} with its part`);
  expect(await titleOf('/seen?page=2')).toBe(`/seen?page=2 ${before + 3} with its part`);
  for (const path of ['/mine', '/never']) expect(await titleOf(path)).not.toContain(path);
  await tab.start();
  expect(tab.key).not.toBe('');
});

test('a new version is told to older pages alone, and deletes what was stored: its files are gone', async () => {
  const tab = await Tab.open(context, site.url, { path: '/seen' });
  await expect.poll(() => stored(tab)).toContain('/part.js');
  serveWorker('2');
  expect(await tab.page.evaluate(lookForUpdate)).toBe(true);
  const later = await Tab.open(context, site.url, { path: '/seen' });
  expect(await Promise.all([tab, later].map((each) => each.status()))).toMatchObject([
    { updateWaiting: true },
    { updateWaiting: false },
  ]);
  await later.page.close();
  await tab.page.evaluate(() => window.lifetime.handle().update());
  expect(await stored(tab)).toEqual([]);
  await tab.page.reload();
  await expect.poll(() => stored(tab)).toEqual(expect.arrayContaining(['/seen', '/part.js']));
});
