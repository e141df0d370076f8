import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { AlteredSite } from '../support/altered-site.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { openPage } from '../support/open-page.ts';
import { smallChat } from '../support/small-chat.ts';

let site: AlteredSite;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  const { catalog, serve } = await smallChat();
  site = await AlteredSite.start(inject('siteUrl'));
  serve(site);
  context = await launchWithWeights({ servedBy: site.url });
  const options = encodeURIComponent(JSON.stringify({ catalog }));
  ({ page, key } = await openPage(context, inject('siteUrl'), `/test-page.html#options=${options}`));
  await page.evaluate(async () => void (await (await window.localtext).ready('amber-phoenix-4')));
});
afterAll(async () => {
  await context.close();
  await site.stop();
});

const ask = (content: string): Promise<string> =>
  page.evaluate(
    async ([apiKey, text]) => {
      const answer = await window.client(apiKey).chat.completions.create({
        model: 'amber-phoenix-4',
        messages: [{ role: 'user', content: text }],
        max_tokens: 30,
        temperature: 0,
      });
      return answer.choices[0]?.message.content ?? '';
    },
    [key, content] as const,
  );

test('what is asked in turn, at temperature 0, is answered as before', async () => {
  const prompts = ['Name a colour.', 'Count to ten.', 'Say hello.', 'What is a fish?'];
  const round = async (): Promise<string[]> => {
    const texts: string[] = [];
    for (const prompt of prompts) texts.push(await ask(prompt));
    return texts;
  };
  await round();
  expect(await round()).toEqual(await round());
});
