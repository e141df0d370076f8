import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { violations } from '../../support/axe.ts';
import { launchWithWeights } from '../../support/stored-weights.ts';

const MODEL = 'amber-phoenix-4';

let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  context = await launchWithWeights();
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
  // The chat would load its own model.
  await page.goto(`${inject('siteUrl')}/#/models`);
});

const card = () => page.locator('.model-card', { has: page.getByRole('heading', { name: MODEL }) });
const isReady = () =>
  card()
    .locator('.tag', { hasText: /^ready$/ })
    .waitFor();
const stored = (name: string): Promise<string | null> =>
  page.evaluate((key) => localStorage.getItem(key), `localtext:${name}`);

test('a model whose load ended the tab shows the reason and a Retry button', async () => {
  await card()
    .getByRole('button', { name: `Load ${MODEL}` })
    .click();
  let loading: string | null = null;
  await expect.poll(async () => (loading = await stored('loading')), { interval: 10 }).not.toBe(null);
  await isReady();
  // What the next visit notes where the tab ended during this load.
  await page.evaluate((ids) => {
    const fatal = (JSON.parse(ids ?? '[]') as string[]).map((id) => [id, Date.now()]);
    localStorage.setItem('localtext:fatal-loads', JSON.stringify(Object.fromEntries(fatal)));
  }, loading);
  await page.reload();

  const again = card().getByRole('button', { name: 'Try it again' });
  await again.waitFor();
  await expect(card().textContent()).resolves.toMatch(/ended the tab\./);
  expect(await violations(page)).toEqual([]);
  await again.click();
  await isReady();
  expect(await stored('fatal-loads')).toBe(null);
  await again.waitFor({ state: 'detached' });
});
