import { expect, test } from 'vitest';

import { smallChat } from '../../support/small-chat.ts';
import { crash } from './support/kill.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import type { Tab } from './support/tab.ts';

const lent = siteOfTabs({}, []);
const MODEL = 'amber-phoenix-4';

const chosen = async (tab: Tab) => {
  const { models } = await tab.status();
  return models.find(({ id }) => id === MODEL);
};

test('a tab that ends during a download says nothing about the model', async () => {
  const { catalog, variant, serve } = await smallChat();
  const variants = ['large', 'small'].map((name) => ({ ...variant, name }));
  const models = catalog.models.map((model) => (model.id === MODEL ? { ...model, variants } : model));
  const open = (): Promise<Tab> => lent.open({ catalog: { ...catalog, models } });
  const [{ path, bytes } = { path: '', bytes: 0 }] = variant.files;
  lent.site.handlers.set(`/models/${path}`, (_, answer) => {
    answer.writeHead(200, { 'content-length': bytes });
    answer.write(Buffer.alloc(2 ** 20));
  });
  const first = await open();
  first.page.evaluate((id) => window.lifetime.handle().ready(id), MODEL).catch(() => undefined);
  await expect.poll(async () => (await chosen(first))?.progress?.loadedBytes).toBeGreaterThan(0);
  await crash(first.page);
  await first.page.close();

  serve(lent.site);
  const second = await open();
  await second.load([MODEL]);
  const { fingerprint, reasons = [] } = (await chosen(second)) ?? {};
  expect(fingerprint).toMatch(/^large-/);
  expect(reasons.filter(({ endedTab }) => endedTab)).toEqual([]);
  await second.page.close();
});

test("if the load of a model's only variant ended its tab, the next visit gets an error until the page retries", async () => {
  const { catalog, serve } = await smallChat();
  serve(lent.site);
  const first = await lent.open({ catalog });
  first.page.evaluate((id) => window.lifetime.handle().ready(id), MODEL).catch(() => undefined);
  await expect
    .poll(async () => (await records(first)).begun, { interval: 2, timeout: 60_000 })
    .toHaveLength(1);
  await crash(first.page);
  await first.page.close();

  const second = await lent.open({ catalog });
  for (let asked = 0; asked < 2; asked++) {
    const { error } = await second.run(counting({ max_tokens: 2 }));
    expect(error).toMatchObject({
      code: 'model_load_failed',
      message: expect.stringContaining('ended its tab') as string,
    });
  }
  expect((await chosen(second))?.reasons).toContainEqual(
    expect.objectContaining({ chosen: true, endedTab: true }),
  );
  const retry = () =>
    second.page.evaluate(
      (id) =>
        window.lifetime
          .handle()
          .ready(id, { retry: true })
          .then(() => null, String),
      MODEL,
    );
  // A load that has just failed begins again after a second.
  await expect.poll(retry).toBe(null);
  expect((await second.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
  expect((await chosen(second))?.reasons?.some(({ endedTab }) => endedTab)).toBe(false);
});

/** Records of this page's scope: loads under way, and those that ended a tab. */
const records = ({ page }: Tab) =>
  page.evaluate(() => ({
    begun: JSON.parse(localStorage.getItem('localtext:loading') ?? '[]') as string[],
    fatal: Object.keys(JSON.parse(localStorage.getItem('localtext:fatal-loads') ?? '{}') as object),
  }));

test('with two tabs, the record says what was done as the leading one ended', async () => {
  const { catalog, variant, serve } = await smallChat();
  const variants = ['large', 'middle', 'small'].map((name) => ({ ...variant, name }));
  const models = catalog.models.map((model) => (model.id === MODEL ? { ...model, variants } : model));
  const open = (): Promise<Tab> => lent.open({ catalog: { ...catalog, models } });
  serve(lent.site);
  const variantIn = async (tab: Tab) => (await chosen(tab))?.fingerprint?.split('-')[0];

  // During the load: the other tab's request is answered by the next variant.
  let [leader, heir] = [await open(), await open()];
  /** Ends the leading tab; the other one loads the same variant. */
  const loadAfterCrash = async (): Promise<void> => {
    await crash(leader.page);
    await expect.poll(() => heir.leads()).toBe(true);
    await heir.load([MODEL]);
    expect(await variantIn(heir)).toBe('middle');
    await leader.page.close();
  };
  const waiting = await heir.begin(counting({ max_tokens: 2 }));
  await expect
    .poll(async () => (await records(heir)).begun, { interval: 2, timeout: 60_000 })
    .toHaveLength(1);
  await crash(leader.page);
  expect((await heir.ended(waiting)).finish).toEqual({ 0: 'length' });
  expect(await variantIn(heir)).toBe('middle');
  expect(await records(heir)).toEqual({ begun: [], fatal: [expect.stringMatching(/^large/)] });
  await leader.page.close();

  // After the first token.
  [leader, heir] = [heir, await open()];
  await loadAfterCrash();

  // Loaded, and idle before its first token.
  [leader, heir] = [heir, await open()];
  expect((await records(heir)).begun).toEqual([]);
  await loadAfterCrash();

  // Before the first token of the first request.
  [leader, heir] = [heir, await open()];
  const content = 'one two three four five '.repeat(300);
  const first = await heir.begin(counting({ messages: [{ role: 'user', content }], max_tokens: 2 }));
  await expect
    .poll(async () => (await records(heir)).begun, { interval: 2 })
    .toEqual([expect.stringMatching(/^middle/)]);
  await crash(leader.page);
  expect((await heir.ended(first)).finish).toEqual({ 0: 'length' });
  expect(await variantIn(heir)).toBe('small');
  const { begun, fatal } = await records(heir);
  expect([begun, fatal.length]).toEqual([[], 2]);
});
