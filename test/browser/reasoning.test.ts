import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { violations } from '../support/axe.ts';
import { firstLayers } from '../support/first-layers.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { writeThinkingGguf } from '../support/thinking-gguf.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { send } from '../support/send.ts';
import { addGguf } from '../support/add-gguf.ts';
import { streamThoughts } from '../support/stream-thoughts.ts';
import { GGUF } from '../support/smollm2.ts';

/** A model at hand whose template thinks, with a part of its layers. It does not end its thoughts: their budget does. */
const MODEL = 'thinker';

let folder: string;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  folder = await tempFolder('thinking');
  const file = join(folder, 'thinker.gguf');
  await writeFile(file, await firstLayers(GGUF, 8));
  await writeThinkingGguf(file, file);
  context = await launch();
  ({ page, key } = await openPage(context, inject('siteUrl')));
  await addGguf(page, file, MODEL);
});

const words = expect.stringMatching(/^[^<]*\w[^<]*$/) as string;

const ask = (more: object) => page.evaluate(streamThoughts, { key, model: MODEL, more });

test('thinks when asked, up to its share of the tokens, and then answers', async () => {
  const { choices, usage } = await ask({ reasoning_effort: 'low', n: 2 });
  const choice = { reasoning: words, text: words, order: ['reasoning', 'text'], finish: 'length' };
  expect(choices).toEqual([choice, choice]);
  expect(usage).toMatchObject({ completion_tokens: 40, completion_tokens_details: { reasoning_tokens: 8 } });
});

test('says that it can think, and does not when not asked', async () => {
  const { body } = await send(page, key, `/v1/models/${MODEL}`);
  expect(body).toMatchObject({ localtext: { thinks: true } });
  for (const more of [{}, { reasoning_effort: 'none' }]) {
    const { choices, usage } = await ask({ ...more, max_tokens: 4 });
    expect(choices[0]).toMatchObject({ reasoning: '', text: words });
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBe(0);
  }
});

test('the playground folds them, and does not send them again', async () => {
  const playground = await context.newPage();
  await playground.goto(inject('siteUrl'));
  await playground.evaluate(
    (settings) => localStorage.setItem('localtext-playground:chat-settings', settings),
    JSON.stringify({ model: MODEL, maxTokens: 60, temperature: 0, reasoning: 'medium' }),
  );
  await playground.reload();
  const sent: string[] = [];
  playground.on('request', (request) => {
    if (request.url().endsWith('/chat/completions')) sent.push(request.postData() ?? '');
  });
  const say = async (text: string): Promise<void> => {
    await playground.getByRole('textbox', { name: 'Message' }).fill(text);
    await playground.getByRole('button', { name: 'Send', exact: true }).click();
  };
  await say('What is the sea?');
  const summary = playground.locator('summary', { hasText: 'Thoughts' });
  await summary.waitFor();
  await playground.locator('.turn-stats').waitFor();
  const text = playground.locator('.thoughts-text');
  expect(await text.isVisible()).toBe(false);
  await summary.press('Enter');
  expect(await text.isVisible()).toBe(true);
  expect(await violations(playground)).toEqual([]);
  const thoughts = (await text.textContent()) ?? '';
  expect(thoughts).toMatch(/\w/);
  await say('Really?');
  await expect.poll(() => sent.length).toBe(2);
  expect(sent[1]).toContain('Really?');
  expect(sent[1]).not.toContain(JSON.stringify(thoughts).slice(1, -1));
  expect(sent[1]).not.toContain('reasoning_content');
});
