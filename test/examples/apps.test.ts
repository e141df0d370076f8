import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';

import { CHUNK_BYTES } from '../../src/weights/backends/storage-backend.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { browserOfFile } from '../support/browser-of-file.ts';
import { ask, openExample } from './support/drive.ts';
import { preview } from './support/vite-server.ts';

/** Examples of whole apps, built and driven on real weights. */

const examples = inject('examples');
const browser = browserOfFile();

test('react-ai-sdk: a first visit shows the download, its progress and the time left; a cancelled one is continued, and the agent in the page streams', async () => {
  const { url } = await preview('react-ai-sdk');
  const site = await AlteredSite.start(new URL(url).origin, { isolated: true, bytesPerSecond: 12e6 });
  const { page, faults } = await openExample(browser.context, site.url, { downloads: false });
  const panel = page.locator('.model');
  const download = panel.getByRole('button', { name: 'Download' });
  await download.waitFor({ timeout: 60_000 });
  expect(await panel.innerText()).toMatch(/happens once[^]*No GPU was found[^]*\b98 MB/);
  expect(site.sent).toBe(0);
  await download.click();
  await panel.getByText(/^[4-9]\d MB of 98 MB, about \d+ s$/).waitFor({ timeout: 30_000 });
  await panel.getByRole('button', { name: 'Cancel' }).click();
  await download.waitFor();
  const left = async (): Promise<number> => Number(/\d+(?= MB)/.exec(await panel.innerText())?.[0]);
  // What is left is looked up in the storage.
  await expect.poll(left).toBeLessThan(98);
  site.bytesPerSecond = 200e6;
  await download.click();
  await panel.getByText('amber-phoenix-4 is ready').waitFor({ timeout: 60_000 });
  expect(await panel.getByRole('button').count()).toBe(0);
  // Nothing is downloaded twice, but for the four chunks that were on their way when it was cancelled.
  const most = 98e6 + 4 * CHUNK_BYTES + 1e6;
  expect(site.sent).toBeLessThan(most);
  await page.reload();
  await page.getByRole('button', { name: 'Send' }).click({ timeout: 90_000 });
  await panel.getByText('amber-phoenix-4 is ready').waitFor();
  expect(site.sent).toBeLessThan(most);
  const stop = page.getByRole('button', { name: 'Stop' });
  await stop.and(page.locator(':enabled')).waitFor();
  await stop.and(page.locator(':disabled')).waitFor({ timeout: 120_000 });
  expect(await page.locator('p.assistant').innerText()).toMatch(/\w{3}/);
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(faults).toEqual([]);
  await page.close();
});

test('langchain-rag, as wide as a phone: the right one of the chosen files is found, and the answer comes from it', async () => {
  const { url } = await preview('langchain-rag');
  const { page, faults } = await openExample(browser.context, url);
  await page.setViewportSize({ width: 390, height: 780 });
  const folder = join(examples, 'langchain-rag/documents');
  const files = (await readdir(folder)).map((name) => join(folder, name));
  await page.locator('input[type=file]:enabled').waitFor({ timeout: 60_000 });
  await page.setInputFiles('input[type=file]', files);
  const source = page.locator('#source');
  expect(await ask(page, "How often is the lamp's oil filled up?")).toMatch(/evening|sunset|nine/);
  expect(await source.innerText()).toBe('lamp.md');
  await ask(page, 'When do we get the mail?');
  expect(await source.innerText()).toBe('boat.md');
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  expect(faults).toEqual([]);
  await page.close();
});

interface ChatBody {
  tool_choice?: unknown;
  messages: { role: string; content: string }[];
}

function chatBodies(page: Page): ChatBody[] {
  const bodies: ChatBody[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/v1/chat/completions') && request.method() === 'POST')
      bodies.push(request.postDataJSON() as ChatBody);
  });
  return bodies;
}

test('openai-agents: the model calls the tool that the prompt needs, and answers from its result', async () => {
  const { url } = await preview('openai-agents');
  const { page, faults } = await openExample(browser.context, url);
  const bodies = chatBodies(page);
  const answer = await ask(page);
  const [call, ...others] = await page.locator('li').allInnerTexts();
  const [, result = ''] = /^count_stock\(\w+\): (There are \d+ \w+ in stock\.)$/.exec(call ?? '') ?? [];
  expect(others).toEqual([]);
  expect(bodies.map(({ tool_choice, messages }) => [tool_choice ?? 'auto', messages.at(-1)])).toEqual([
    ['auto', expect.objectContaining({ role: 'user' })],
    ['auto', expect.objectContaining({ role: 'tool', content: result })],
  ]);
  expect(answer).toBe(result);
  await ask(page, 'Order 20 more plums from the supplier');
  expect(await page.locator('li').allInnerTexts()).toEqual([
    expect.stringMatching(/^order_item\(\w+, \d+\): /),
  ]);
  await ask(page, 'Hello');
  expect(await page.locator('li').count()).toBe(0);
  expect(faults).toEqual([]);
  await page.close();
});
