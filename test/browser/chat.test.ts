import { expect, test } from 'vitest';

import { sharedPage } from '../support/shared-page.ts';

/** Chat on real weights, asked for by the OpenAI client in the page, through the real service worker. */

const tab = sharedPage({}, 'amber-phoenix-4');

test('without parameters, the variant’s own sampling keeps improbable tokens out', async () => {
  const [sampling, texts] = await tab.page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    const model = await client.models.retrieve('amber-phoenix-4');
    const say = async (seed: number) => {
      const messages = [{ role: 'user' as const, content: 'How are you today?' }];
      const body = { model: model.id, messages, seed, max_completion_tokens: 24 };
      return (await client.chat.completions.create(body)).choices[0]?.message.content ?? '';
    };
    const replies: string[] = [];
    for (const seed of [1, 1, 2, 3]) replies.push(await say(seed));
    const { localtext } = model as unknown as { localtext: { sampling: unknown } };
    return [localtext.sampling, replies] as const;
  }, tab.key);
  expect(sampling).toEqual({ temperature: 1, top_p: 1, min_p: 0.2, frequency_penalty: 0.5 });
  const [first, again, ...others] = texts;
  expect(again).toBe(first);
  expect(new Set([first, ...others]).size).toBeGreaterThan(1);
  for (const text of texts) expect(text).toMatch(/^[\p{Script=Latin}\p{Script=Common}]+$/u);
});
