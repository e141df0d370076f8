import type { BrowserContext, CDPSession, Page } from 'playwright';
import { afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { AlteredSite } from '../support/altered-site.ts';

const EMBEDDER = 'jade-mole-4';
const CHAT = 'amber-phoenix-4';
const MINI_LM = 'all-minilm-l6-v2-int8';
const SMOL_LM = 'smollm2-135m-instruct-q4_1';
/** One model in memory at a time. */
const limits = { memoryBytes: 200_000_000 };

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

const open = async (options: object = {}): Promise<Page> =>
  (
    await openPage(
      context,
      site.url,
      `/test-page.html?options=${encodeURIComponent(JSON.stringify(options))}`,
    )
  ).page;

/** `loaded`, or the error's code and message. */
const ready = (page: Page, model: string): Promise<string> =>
  page.evaluate(async (id) => {
    const handle = await window.localtext;
    return handle.ready(id).then(
      () => 'loaded',
      (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
    );
  }, model);

const overview = (page: Page) => page.evaluate(async () => (await window.localtext).weights.list());

const stored = async (page: Page): Promise<string[]> => {
  const { variants } = await overview(page);
  return variants.flatMap(({ variant, storedBytes, state }) =>
    storedBytes > 0 ? `${variant} ${state}` : [],
  );
};

/**
 * What the browser lets the site store beyond what it has stored; for as long as the session lasts. A file
 * counts for the next power of two: the 98 MB of the chat model as 134.
 */
async function allowMore(session: CDPSession, page: Page, bytes: number): Promise<void> {
  const used = (await overview(page)).usedBytes ?? 0;
  await session.send('Storage.overrideQuotaForOrigin', { origin: site.url, quotaSize: used + bytes });
}

test('without room, an error names what could be deleted, and nothing is lost; with `evict`, that is deleted for the requested model', async () => {
  const page = await open({ limits });
  expect(await ready(page, EMBEDDER)).toBe('loaded');
  const session = await context.newCDPSession(page);
  await allowMore(session, page, 120_000_000);
  const failure = await ready(page, CHAT);
  expect(failure).toMatch(
    /^storage_full: 98362432 bytes more are needed, and the browser's storage is full\./,
  );
  expect(failure).toMatch(/could be deleted: all-minilm-l6-v2-int8 \(240\d+ bytes\)/);
  expect(await stored(page)).toEqual([`${MINI_LM} whole`]);
  expect(site.asked.filter((path) => path.includes('.gguf'))).toEqual([]);
  expect(await ready(page, EMBEDDER)).toBe('loaded');
  await page.close();

  const evicting = await open({ limits: { ...limits, evict: true } });
  expect(await ready(evicting, EMBEDDER)).toBe('loaded');
  await allowMore(await context.newCDPSession(evicting), evicting, 120_000_000);
  expect(await ready(evicting, CHAT)).toBe('loaded');
  expect(await stored(evicting)).toEqual([`${SMOL_LM} whole`]);
});

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
