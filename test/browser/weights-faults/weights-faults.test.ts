import type { CDPSession } from 'playwright';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFailed, test } from 'vitest';

import type { EmbedderTab } from './support/embedder-tab.ts';
import { CHUNK, CHUNKS, FaultRig } from './support/fault-rig.ts';

/** What the browser has a part in: test/unit/weights has all other faults. */

/** Upper bound of the files beside the large one, in bytes. */
const SMALL_FILES = 500_000;

let rig: FaultRig;

beforeAll(async () => {
  rig = await FaultRig.start();
});

afterEach(() => rig.site.reset());

/** The common tab, which a failure may leave in any state. */
async function commonTab(): Promise<EmbedderTab> {
  onTestFailed(() => rig.closeTabs());
  return rig.tab();
}

/** Two, of which the first leads, and nothing stored. */
async function openTwo(): Promise<[EmbedderTab, EmbedderTab]> {
  await rig.closeTabs();
  const tabs: [EmbedderTab, EmbedderTab] = [await commonTab(), await rig.open()];
  await tabs[0].remove();
  rig.site.reset(() => ({ delayMs: 300 }));
  return tabs;
}

const chunksAsked = (count: number): Promise<void> =>
  expect.poll(() => rig.site.asked.length, { interval: 20, timeout: 30_000 }).toBeGreaterThanOrEqual(count);

describe('tabs', () => {
  // The tab that is left would lead.
  afterAll(() => rig.closeTabs());

  test('the leading tab is closed in mid-download: the next continues from the stored part', async () => {
    const [first, second] = await openTwo();
    void first.ready();
    const rest = second.ready();
    await chunksAsked(3);
    await first.page.close();
    expect(await rest).toBe('loaded');
    expect(new Set(rig.site.asked).size).toBe(CHUNKS);
    // Those that were under way.
    expect(rig.site.asked.length - CHUNKS).toBeLessThanOrEqual(4);
    await rig.expectKnown(second);
  });
});

describe('storage', () => {
  /** Limits the storage of the page's origin, for as long as the session lasts. */
  const limit = async (session: CDPSession, { page }: EmbedderTab, more: number | null): Promise<void> => {
    const used = await page.evaluate(async () => (await navigator.storage.estimate()).usage ?? 0);
    const quota = more === null ? {} : { quotaSize: used + more };
    await session.send('Storage.overrideQuotaForOrigin', { origin: rig.site.url, ...quota });
  };

  const clearFiles = async ({ page }: EmbedderTab): Promise<void> => {
    const session = await rig.context.newCDPSession(page);
    const cleared = { origin: rig.site.url, storageTypes: 'file_systems' };
    await session.send('Storage.clearDataForOrigin', cleared);
  };

  test('that becomes full between two chunks: what has come is kept', async () => {
    const tab = await commonTab();
    await tab.remove();
    const session = await rig.context.newCDPSession(tab.page);
    rig.site.reset(() => ({ delayMs: 1000 }));
    const loading = tab.ready();
    await chunksAsked(3);
    // The file that is being written has its room, and counts for 10 MB more than it has.
    await limit(session, tab, -20_000_000);
    expect(await loading).toMatch(/^storage_full: /);
    const { bytes } = await tab.stored();
    expect(bytes).toBeGreaterThan(CHUNK);
    rig.site.reset();
    await limit(session, tab, null);
    await tab.expectLoaded();
    expect(rig.site.sent).toBeLessThanOrEqual(rig.body.length - (bytes - SMALL_FILES));
    await rig.expectKnown(tab);
  });

  test('that is cleared while a model answers: it goes on from memory, and is downloaded for the next load', async () => {
    const tab = await commonTab();
    await rig.expectKnown(tab);
    await clearFiles(tab);
    rig.site.reset();
    await rig.expectKnown(tab);
    expect([rig.site.asked.length, (await tab.stored()).bytes]).toEqual([0, 0]);
    // In the same worker, once the model has left its memory.
    await tab.remove();
    await rig.expectKnown(tab);
    expect(rig.site.sent).toBe(rig.body.length);
    rig.site.reset();
    await tab.reload();
    await rig.expectKnown(tab);
    expect(rig.site.asked).toEqual([]);
  });

  test('that is cleared in mid-download: the load fails, and the next one begins again', async () => {
    const tab = await commonTab();
    await tab.remove();
    rig.site.reset(() => ({ delayMs: 300 }));
    const loading = tab.ready();
    await chunksAsked(3);
    await clearFiles(tab);
    expect(await loading).toMatch(/^storage_failed: .* cleared/);
    await tab.expectLoaded();
    await rig.expectKnown(tab);
  });

  const refused = (what: string): string =>
    `${what} = () => Promise.reject(new DOMException('refused', 'SecurityError'));\n`;
  const noFiles = refused('StorageManager.prototype.getDirectory');
  test.for([
    ['cache', noFiles, 0],
    ['memory', noFiles + refused('CacheStorage.prototype.open'), CHUNKS],
  ] as const)('that refuses files: %s takes their place', async ([place, prefix, fetchedAgain]) => {
    await rig.withWorkerPrefix(prefix, async (tab) => {
      await rig.expectKnown(tab);
      expect((await tab.stored()).kind).toBe(place);
      rig.site.reset();
      await tab.reload();
      await rig.expectKnown(tab);
      expect(rig.site.asked).toHaveLength(fetchedAgain);
    });
  });
});
