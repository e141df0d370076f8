import { readFile } from 'node:fs/promises';

import type { BrowserContext, Page } from 'playwright';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';

import { CHUNK_BYTES } from '../../../src/weights/backends/storage-backend.ts';
import { violations } from '../../support/axe.ts';
import { AlteredSite } from '../../support/altered-site.ts';
import { FaultSite } from '../../support/fault-site.ts';
import { launch } from '../../support/launch.ts';

/** A download as its user handles it, of real weights over a slow line. */

const MODEL = 'amber-phoenix-4';
const MB = 1_000_000;
/** Size of all its files. */
const WHOLE = 98.4 * MB;

let site: AlteredSite;
let context: BrowserContext;
let page: Page;

beforeEach(async () => {
  site = await AlteredSite.start(inject('siteUrl'), { isolated: true, bytesPerSecond: 10 * MB });
  context = await launch();
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
  // The chat would load its own model.
  await page.goto(`${site.url}/#/models`);
});

afterEach(async () => {
  await context.close();
  await site.stop();
});

const card = () => page.locator('.model-card', { has: page.getByRole('heading', { name: MODEL }) });
const press = (name: string): Promise<void> => card().getByRole('button', { name }).click();

/** Bytes that the card shows. */
async function shown(): Promise<number> {
  const text = (await card().locator('.load-card .figures').textContent()) ?? '';
  return Number(/^([\d.]+) MB of 98\.4 MB/.exec(text)?.[1] ?? 0) * MB;
}

async function arrived(bytes: number): Promise<void> {
  await expect.poll(shown, { timeout: 60_000, interval: 100 }).toBeGreaterThan(bytes);
}

const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
/** What screen readers were told last. */
const announced = () => page.locator('[role=status]').first().textContent();

/** Resolves when no connection carries weights any more, which the server knows a moment after its clients. */
const stopped = () => expect.poll(() => site.sending, { timeout: 30_000 }).toBe(0);

test('a download is paused, resumed, cancelled, and restarted from where it was', async () => {
  await press(`Load ${MODEL}`);
  await arrived(30 * MB);
  await press('Pause');
  await card().getByText(`Paused: ${MODEL}`).waitFor();
  await stopped();
  await expect(card().locator('.load-card .figures').textContent()).resolves.toContain(
    'what has come is kept',
  );
  expect(await violations(page)).toEqual([]);
  const held = await shown();

  await press('Resume');
  await arrived(held + 5 * MB);
  await press('Cancel');
  await card().getByText(`Loading ${MODEL} was cancelled.`).waitFor();
  await expect.poll(focused).toBe(`Load ${MODEL}`);
  await stopped();

  const before = site.sent;
  site.bytesPerSecond = 1_000 * MB;
  await press('Load it');
  await card().getByText('ready', { exact: true }).waitFor();
  await expect.poll(announced).toContain(`${MODEL} is ready.`);
  await expect.poll(focused).toContain(MODEL);
  // What had come was not fetched again, but for the parts of four chunks that were cut off.
  expect(site.sent - before).toBeLessThan(WHOLE - 30 * MB + 4 * CHUNK_BYTES);
  await page.getByRole('list', { name: 'Stored weights' }).getByText('98.4 MB').waitFor();
});

test('a window of 320 × 256 px reaches the composer below a load, whose size is announced', async () => {
  site.bytesPerSecond = 0.1 * MB;
  await page.goto(`${site.url}/#/chat`);
  await page.getByRole('textbox', { name: 'Message' }).fill('Hello.');
  await page.keyboard.press('Enter');
  await page.locator('.chat-foot .load-card .figures').getByText('of 98.4 MB').waitFor();
  expect(await announced()).toBe('Downloading amber-phoenix-4, 98.4 MB.');
  await page.getByRole('link', { name: `${MODEL} downloading` }).waitFor();
  await page.setViewportSize({ width: 320, height: 256 });
  await page.evaluate(() => {
    for (const each of document.querySelectorAll('*'))
      if (getComputedStyle(each).overflowY !== 'hidden') each.scrollTop = each.scrollHeight;
  });
  for (const name of ['Stop', 'More views']) {
    const button = page.getByRole('button', { name, exact: true });
    const isOnTop = (element: Element): boolean => {
      const { x, y, width, height } = element.getBoundingClientRect();
      const ends = [y + 2, y + height - 2].map((at) => document.elementFromPoint(x + width / 2, at));
      return ends.every((each) => each !== null && element.contains(each));
    };
    expect(await button.evaluate(isOnTop), name).toBe(true);
  }
  site.bytesPerSecond = 1;
  await page.locator('.chat-foot').getByText('waiting for the connection').waitFor();
});

test.each([
  {
    view: 'chat',
    file: 'smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf',
    ask: () => page.getByRole('textbox', { name: 'Message' }).press('Enter'),
    answer: '.turn-assistant button[aria-label="Copy the reply"]',
  },
  {
    view: 'decide',
    file: 'all-minilm-l6-v2-int8/onnx/model.onnx',
    ask: () => page.getByRole('button', { name: 'Decide', exact: true }).click(),
    answer: '.decide-asked',
  },
])(
  '$view tells a failed download once, and is answered at the first retry',
  async ({ view, file, ask, answer }) => {
    const faulty = await FaultSite.start(
      inject('siteUrl'),
      `/models/${file}`,
      await readFile(`public/models/${file}`),
    );
    faulty.reset(() => ({ status: 404 }));
    await page.goto(`${faulty.url}/#/${view}`);
    if (view === 'chat') await page.getByRole('textbox', { name: 'Message' }).fill('Hello.');
    await ask();
    const problem = page.getByText('The model could not be downloaded.');
    await problem.waitFor();
    if (view === 'chat') await page.getByText('No reply: the model was not loaded.').waitFor();
    await expect(problem.count()).resolves.toBe(1);
    faulty.reset();
    await page.getByRole('button', { name: /^Try again/ }).click();
    await page.locator(answer).first().waitFor();
    await expect(problem.count()).resolves.toBe(0);
  },
);
