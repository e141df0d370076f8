import type { BrowserContext, Page } from 'playwright';
import { afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { AlteredSite } from '../support/altered-site.ts';

const EMBEDDER = 'jade-mole-4';

let site: AlteredSite;
let context: BrowserContext;

beforeAll(async () => {
  site = await AlteredSite.start(inject('siteUrl'), { isolated: true });
});

beforeEach(async () => {
  site.asked.length = 0;
  context = await launch();
});

afterEach(async () => {
  await context.close();
});

const open = async (options: object = {}): Promise<Page> => (await openPage(context, site.url, options)).page;

const overview = (page: Page) => page.evaluate(async () => (await window.localtext).weights.list());

test.each([
  ['granted', true],
  ['denied', false],
] as const)(
  'as a download begins, the browser is asked once to keep the storage: %s',
  async (setting, persisted) => {
    await context.addInitScript(() => {
      const answers: boolean[] = [];
      const ask = StorageManager.prototype.persist;
      StorageManager.prototype.persist = async function persist(this: StorageManager) {
        const answer = await ask.call(this);
        answers.push(answer);
        return answer;
      };
      Object.assign(window, { answers });
    });
    const page = await open();
    const answers = () => page.evaluate(() => (window as unknown as { answers: boolean[] }).answers);
    const session = await context.newCDPSession(page);
    await session.send('Browser.setPermission', {
      origin: site.url,
      permission: { name: 'persistent-storage' },
      setting,
    });
    expect(await answers()).toEqual([]);
    await page.evaluate(async (id) => {
      const handle = await window.localtext;
      // The browser may be closed before that.
      handle.ready(id).catch(() => {});
    }, EMBEDDER);
    await expect.poll(answers).toEqual([persisted]);
    expect((await overview(page)).persisted).toBe(persisted);
  },
);
