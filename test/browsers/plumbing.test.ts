import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { defaultCatalog, extendCatalog, speech } from '../../src/catalog.ts';
import type { StartOptions } from '../../src/page/start-options.ts';
import type { Body } from '../browser/lifetime/site/run.ts';
import { StaticSite } from '../support/static-site.ts';
import { selectedBrowsers } from './support/browsers.ts';
import { counted, SiteTab } from './support/site-tab.ts';
import type { Browser } from './support/driver.ts';

const QUESTION = { type: 'predicate', name: 'spam', instructions: 'This message is spam.' };

/** The whole path, from the client to an engine that counts: without weights, so that only the plumbing is tested. */
describe.each(selectedBrowsers())('$name', ({ name: browserName, launch }) => {
  let browser: Browser;
  let site: StaticSite;
  const tabs: SiteTab[] = [];

  const open = async (options?: StartOptions): Promise<SiteTab> => {
    const tab = await SiteTab.open(browser, site.url, options);
    tabs.push(tab);
    return tab;
  };
  beforeAll(async () => {
    [browser, site] = await Promise.all([launch(), StaticSite.start()]);
  });
  afterEach(async () => {
    for (const tab of tabs.splice(0)) await tab.close();
  });
  afterAll(() => browser?.close());

  test('a first visit streams a chat, and refuses a wrong key, model and path', async () => {
    const tab = await open();
    expect(await tab.run({ max_tokens: 10 })).toMatchObject({
      text: { 0: counted(10) },
      finish: { 0: 'length' },
      usage: { completion_tokens: 10 },
      error: null,
    });
    expect(await tab.run({ max_tokens: 3, stream: false })).toMatchObject({ text: { 0: counted(3) } });
    expect(await tab.status('/v1/models')).toBe(200);
    expect(await tab.status('/v1/models', 'lt_wrong')).toBe(401);
    expect(await tab.status('/v1/models/none')).toBe(404);
    expect(await tab.status('/v1/none')).toBe(404);
  });

  test.each([true, false])('after an abort the next request is answered (streamed: %s)', async (stream) => {
    const tab = await open();
    for (let round = 0; round < 2; round++) {
      // An abort before the headers is invisible: the reply of a request that is not streamed is computed to its end.
      const name = await tab.begin({ max_tokens: stream ? 3000 : 50, stream });
      if (stream) await tab.deltas(name, 3);
      else await new Promise((resolve) => setTimeout(resolve, 500));
      await tab.abort(name);
      expect(await tab.ended(name)).toMatchObject({ finish: {} });
      expect(await tab.run({ max_tokens: 2 }, 5000)).toMatchObject({ text: { 0: counted(2) } });
      await tab.untilFree();
    }
  });

  test.each<[string, Body]>([
    ['a chat', { stream: false, max_tokens: 3000 }],
    ['a stream', { max_tokens: 3000 }],
    ['a completion', { path: '/completions', prompt: 'Count.', max_tokens: 1500 }],
    ['a response', { path: '/responses', input: 'Count.', max_output_tokens: 1500 }],
    ['embeddings', { input: ['a'.repeat(1500)] }],
    [
      'a decision',
      { path: '/decisions', model: 'jade-mole-4', input: 'a'.repeat(1500), questions: [QUESTION] },
    ],
    ['a transcription', { clip: '/localtext-sw.js', model: 'coral-wren-4' }],
  ])('`localtext.fetch`: an abort of %s ends it in the engine', async (_, body) => {
    const tab = await open({
      workerUrl: '/counting-worker.js',
      catalog: extendCatalog(defaultCatalog, speech),
    });
    const name = await tab.begin(body, true);
    await tab.untilBusy();
    await tab.abort(name);
    const aborted = Date.now();
    expect(await tab.ended(name)).toMatchObject({ finish: {} });
    await tab.untilFree();
    // It would have taken 30 s.
    expect(Date.now() - aborted).toBeLessThan(15_000);
    expect(await tab.run({ max_tokens: 2 })).toMatchObject({ text: { 0: counted(2) } });
  });

  test('closing a tab in mid-stream aborts its request', async () => {
    const [leader, asker] = [await open(), await open()];
    const name = await asker.begin({ max_tokens: 3000 });
    await asker.deltas(name, 3);
    await asker.close();
    await leader.untilFree();
    expect(await leader.run({ max_tokens: 2 })).toMatchObject({ text: { 0: counted(2) } });
  });

  test.each(['close', 'reload'] as const)(
    'tabs share one engine; %s its tab, and a stream goes on',
    async (end) => {
      const [leader, asker] = [await open(), await open()];
      const epoch = await leader.epoch();
      expect(await asker.epoch()).toBe(epoch);
      const name = await asker.begin({ max_tokens: 100 });
      await asker.deltas(name, 5);
      await (end === 'close' ? leader.close() : leader.reload());
      expect(await asker.ended(name)).toMatchObject({ text: { 0: counted(100) }, error: null });
      expect(await asker.epoch()).not.toBe(epoch);
    },
  );

  test.runIf(browserName !== 'webkit')(
    'other tabs are answered while a script keeps the leading tab busy',
    async () => {
      const [leader, asker] = [await open(), await open()];
      const until = await leader.keepBusy(20_000);
      // By a call to the engine's worker, then by the link to it.
      for (let round = 0; round < 2; round++)
        expect(await asker.run({ max_tokens: 2 })).toMatchObject({ text: { 0: counted(2) }, error: null });
      expect(Date.now()).toBeLessThan(until);
    },
  );

  test('other tabs are answered after a script has kept the leading tab busy', async () => {
    const [leader, asker] = [await open(), await open()];
    await leader.keepBusy(3000);
    expect(await asker.run({ max_tokens: 2 })).toMatchObject({ text: { 0: counted(2) }, error: null });
  });

  test('without a network, a reloaded page answers', async () => {
    const tab = await open();
    await site.stop();
    try {
      await tab.reload();
      expect(await tab.run({ max_tokens: 3 })).toMatchObject({ text: { 0: counted(3) } });
    } finally {
      await site.start();
    }
  });
});
