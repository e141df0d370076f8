import type { BrowserContext } from 'playwright';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';

import { AlteredSite } from '../../support/altered-site.ts';
import { launch } from '../../support/launch.ts';
import { deployBuild, lookForUpdate, PAGE } from '../../support/site-builds.ts';
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

test('a page that came with a redirect, or that the host alters, is stored if it is the build’s', async () => {
  await deployBuild(site, 'second');
  await Tab.open(context, site.url);
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
