import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launchWithWeights } from '../../support/stored-weights.ts';

/** The suggestions of the chat are such that the smallest model answers them. A seed makes its sampled replies repeat. */

let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  context = await launchWithWeights();
  page = await context.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(`${inject('siteUrl')}/#/chat`);
  await page.evaluate(() =>
    localStorage.setItem('localtext-playground:chat-settings', JSON.stringify({ seed: 1, maxTokens: 60 })),
  );
  await page.reload();
});

const STARTERS: [text: string, answer: RegExp][] = [
  ['Explain what a web browser is in one sentence.', /software|program|application|tool/],
  ['Write a sentence about the sea.', /^The sea\b[^.]*\.$/],
  ['Name five animals.', /\b(?:lion|bear|dog)\b/i],
];

async function reply(): Promise<string> {
  await page.locator('.turn-stats').waitFor();
  return page.locator('.turn-assistant .markdown').innerText();
}

test('the starters are those that are tested here', async () => {
  const shown = page.getByRole('list', { name: 'Ideas to begin with' }).getByRole('button');
  await shown.first().waitFor();
  expect(await shown.allInnerTexts()).toEqual(STARTERS.map(([text]) => text));
});

test.each(STARTERS)('"%s" is answered', async (text, answer) => {
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByRole('button', { name: text }).click();
  expect(await reply()).toMatch(answer);
});

test('a greeting is answered by a greeting, with the system prompt that the page shows', async () => {
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByText(/System prompt: “You are a helpful assistant\./).waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('Hi');
  await page.keyboard.press('Enter');
  expect(await reply()).toMatch(/^(?:Hello|Hi|Hey)\b.*(?:help|assist)/);
});

test('a question sent while the page starts is answered after the reload that isolates it', async () => {
  const fresh = await context.newPage();
  // The first load never starts.
  await fresh.addInitScript(() => {
    if (sessionStorage.getItem('reloaded')) return;
    sessionStorage.setItem('reloaded', '1');
    navigator.serviceWorker.getRegistration = () => new Promise<never>(() => undefined);
  });
  await fresh.goto(inject('siteUrl'));
  await fresh.getByText('98.4 MB of weights are downloaded once').waitFor();
  await fresh.getByRole('textbox', { name: 'Message' }).fill('Name a color.');
  await fresh.keyboard.press('Enter');
  // It is stored before the page is left.
  await fresh.getByRole('button', { name: 'Conversations' }).click();
  await fresh.getByRole('button', { name: /^Name a color/ }).waitFor();
  await fresh.reload();
  await fresh.locator('.turn-stats').waitFor({ timeout: 60_000 });
  expect(await fresh.locator('.turn-assistant').count()).toBe(1);
  await fresh.close();
});
