import { expect, test } from 'vitest';

import { smallChat } from '../../support/small-chat.ts';
import { crash } from './support/kill.ts';
import { siteOfTabs } from './support/site-of-tabs.ts';
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

test('a load that ended its tab is not begun again where a smaller variant can run, until the page asks for it', async () => {
  const { catalog, variant, serve } = await smallChat();
  const variants = ['large', 'small'].map((name) => ({ ...variant, name }));
  const models = catalog.models.map((model) => (model.id === MODEL ? { ...model, variants } : model));
  const open = (): Promise<Tab> => lent.open({ catalog: { ...catalog, models } });
  serve(lent.site);
  const first = await open();
  first.page.evaluate((id) => window.lifetime.handle().ready(id), MODEL).catch(() => undefined);
  await expect
    .poll(async () => (await chosen(first))?.progress?.phase, { interval: 5 })
    .toMatch(/load|ready/);
  await crash(first.page);
  await first.page.close();

  const second = await open();
  await second.load([MODEL]);
  const { fingerprint, reasons = [] } = (await chosen(second)) ?? {};
  expect(fingerprint).toMatch(/^small-/);
  expect(reasons).toContainEqual(
    expect.objectContaining({ variant: 'large', chosen: false, endedTab: true }),
  );
  await second.page.evaluate((id) => window.lifetime.handle().ready(id, { retry: true }), MODEL);
  expect((await chosen(second))?.fingerprint).toMatch(/^large-/);

  // A page that is left in the middle of a load says nothing about the model.
  await second.page.reload();
  await second.page.waitForFunction(() => 'lifetime' in window);
  await second.start();
  second.page.evaluate((id) => window.lifetime.handle().ready(id), MODEL).catch(() => undefined);
  await expect.poll(async () => (await chosen(second))?.state, { interval: 5 }).not.toBe('idle');
  await second.page.close();
  const third = await open();
  await third.load([MODEL]);
  expect((await chosen(third))?.fingerprint).toMatch(/^large-/);
});
