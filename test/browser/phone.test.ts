import { readdir } from 'node:fs/promises';

import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import type { VariantReason } from '../../src/protocol/status.ts';
import { launch } from '../support/launch.ts';
import { AlteredSite } from '../support/altered-site.ts';

/** A phone: 4 GB, 4 processors, touch, 390 px. */

const PHONE = `Object.defineProperties(Object.getPrototypeOf(navigator), {
  deviceMemory: { get: () => 4 },
  hardwareConcurrency: { get: () => 4 },
});`;
const SHORT_REPLIES = `localStorage.setItem('localtext-playground:chat-settings', '{"maxTokens":24,"temperature":0}')`;
const WEIGHTS = '/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';
/** The chat's weights take some 5 s. */
const BYTES_PER_SECOND = 30e6;

let persistent: BrowserContext;
let context: BrowserContext;
let site: AlteredSite;
let page: Page;

beforeAll(async () => {
  const slow = { bytesPerSecond: BYTES_PER_SECOND };
  [persistent, site] = await Promise.all([launch(), AlteredSite.start(inject('siteUrl'), slow)]);
  const phone = { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true };
  context = (await persistent.browser()?.newContext(phone)) ?? persistent;
  for (const name of await readdir('dist/test-site/assets'))
    if (/^worker-.*\.js$/.test(name)) site.files.set(`/assets/${name}`, (text) => `${PHONE}\n${text}`);
  await context.addInitScript(PHONE);
  await context.addInitScript(SHORT_REPLIES);
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(site.url);
});
/** Reasons of all models. There are none until the engine of the reloaded page has reported its status. */
async function variantReasons(): Promise<VariantReason[]> {
  let reasons: VariantReason[] = [];
  await expect
    .poll(async () => {
      const { models } = await page.evaluate(async () => (await window.localtext).status());
      reasons = models.flatMap((model) => model.reasons ?? []);
      return reasons.length;
    })
    .toBeGreaterThan(0);
  return reasons;
}

const downloads = (): string[] => site.asked.filter((path) => path.startsWith(WEIGHTS));

test('asks before it downloads, and takes the smallest variant', async () => {
  const load = page.getByRole('button', { name: /^(Download 98\.4 MB and start|Load amber-phoenix-4)$/ });
  await load.waitFor();
  await page.getByText('98.4 MB of weights are downloaded once').waitFor();
  expect(downloads()).toEqual([]);

  // Also where larger ones may come from the model hub.
  await page.evaluate(() => localStorage.setItem('localtext-playground:model-hub', 'true'));
  await page.reload();
  await load.waitFor();
  let reasons: VariantReason[] = [];
  // The first ones may still be of the engine before the reload.
  await expect
    .poll(async () => {
      reasons = await variantReasons();
      return reasons.map(({ reason }) => reason);
    })
    .toContain('needs 6 processor cores, and this device has 4');
  expect(new Set(reasons.flatMap(({ chosen, variant }) => (chosen ? variant : [])))).toEqual(
    new Set(['smollm2-135m-instruct-q4_1', 'all-minilm-l6-v2-int8', 'hibari-heart-int8']),
  );
  expect(downloads()).toEqual([]);
  await page.evaluate(() => localStorage.removeItem('localtext-playground:model-hub'));
  await page.reload();
});

test('a desktop asks, too, where the browser is to save data', async () => {
  const desktop = await launch();
  await desktop.addInitScript(
    `Object.defineProperty(navigator, 'connection', { value: { saveData: true } });`,
  );
  const tab = await desktop.newPage();
  await tab.goto(site.url);
  await tab.getByRole('button', { name: 'Download 98.4 MB and start' }).waitFor();
  expect(downloads()).toEqual([]);
});

test('controls are large enough for iOS not to zoom, and nothing is wider than the screen', async () => {
  const sizes = await page.evaluate(() =>
    [...document.querySelectorAll('input, select, textarea')].map((each) =>
      parseFloat(getComputedStyle(each).fontSize),
    ),
  );
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(16);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});

test('a load continues in a tab that is told that it freezes', async () => {
  await page.getByRole('button', { name: 'Download 98.4 MB and start' }).tap();
  await expect.poll(() => downloads().length, { timeout: 30_000 }).toBeGreaterThan(0);
  await page.evaluate(() => document.dispatchEvent(new Event('freeze')));
  await new Promise((resolve) => setTimeout(resolve, 2000));
  await page.evaluate(() => document.dispatchEvent(new Event('resume')));
  await page.getByText('amber-phoenix-4 is loaded').waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('Say hello.');
  await page.getByRole('button', { name: 'Send', exact: true }).tap();
  await page.locator('.turn-stats').waitFor();
  expect(await page.locator('.turn .error-text').count()).toBe(0);
});

test('stored weights are loaded without asking', async () => {
  const conversation = page.url();
  await page.goto(`${site.url}/#/chat`);
  await page.reload();
  await page.getByText('amber-phoenix-4 is loaded').waitFor();
  await page.goto(conversation);
});

test('Enter breaks a line in each field of a prompt, and sends nothing', async () => {
  await page.getByRole('button', { name: 'Edit and send as another version' }).tap();
  const fields = ['Edit your message', 'Message'];
  for (const name of [...fields, 'Prompt for both']) {
    if (name === 'Prompt for both') await page.goto(`${site.url}/#/compare`);
    const field = page.getByRole('textbox', { name, exact: true });
    await field.fill('One');
    await field.press('Enter');
    expect(await field.inputValue(), name).toBe('One\n');
  }
  // Ctrl with Enter is of a keyboard, and sends.
  await page.getByRole('textbox', { name: 'Prompt for both' }).press('Control+Enter');
  await page.getByRole('button', { name: 'Stop both' }).waitFor();
});
