import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { openPage } from '../support/open-page.ts';
import { launchWithWeights } from '../support/stored-weights.ts';

let context: BrowserContext;
let page: Page;
let key = '';

beforeAll(async () => {
  context = await launchWithWeights();
  ({ page, key } = await openPage(context, inject('siteUrl')));
  await page.evaluate(async () => {
    const localtext = await window.localtext;
    for (const model of ['amber-phoenix-4', 'jade-mole-4']) await localtext.ready(model);
  });
});

interface Answer {
  status: number;
  message: string;
}

/** Posts the bodies together, and a chat of one token beside them. A content is one pattern, repeated. */
async function post(
  bodies: { path: string; pattern: string; times: number }[],
): Promise<{ beside: Answer; long: Answer[] }> {
  return page.evaluate(
    async ([apiKey, requests]) => {
      const send = async (path: string, body: object): Promise<Answer> => {
        const response = await fetch(`/v1${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}` },
          body: JSON.stringify(body),
        });
        const { error } = (await response.json()) as { error?: { message: string } };
        return { status: response.status, message: error?.message ?? '' };
      };
      const chat = (content: string) => ({
        model: 'amber-phoenix-4',
        messages: [{ role: 'user', content }],
        max_tokens: 1,
        temperature: 0,
      });
      await send('/chat/completions', chat('Hi'));
      const long = requests.map(({ path, pattern, times }) => {
        const text = pattern.repeat(times);
        return send(path, path === '/embeddings' ? { model: 'jade-mole-4', input: text } : chat(text));
      });
      const beside = await send('/chat/completions', chat('Hi'));
      return { beside, long: await Promise.all(long) };
    },
    [key, bodies] as const,
  );
}

test('a prompt of 4 MiB is refused without being tokenized, and another request is answered beside it', async () => {
  const { beside, long } = await post([
    { path: '/chat/completions', pattern: 'word ', times: 800_000 },
    { path: '/chat/completions', pattern: ' ', times: 4_000_000 },
    { path: '/embeddings', pattern: 'word ', times: 800_000 },
    { path: '/embeddings', pattern: 'x', times: 4_000_000 },
  ]);
  for (const { status, message } of long) {
    expect(status).toBe(400);
    // One that was tokenized is refused with its number of tokens.
    expect(message).toMatch(/maximum context length is (8192|512) tokens, and .* has \d+ characters/);
  }
  expect(beside.status).toBe(200);
});

test('a prompt that might fit is counted, and refused with its number of tokens', async () => {
  const { beside, long } = await post([{ path: '/chat/completions', pattern: 'word ', times: 20_000 }]);
  expect(long[0]).toMatchObject({
    status: 400,
    message: expect.stringMatching(/takes 200\d\d: \d+ too many/),
  });
  expect(beside.status).toBe(200);
});

test('prompts are counted and refused, and a short chat answered, while a long prompt is computed', async () => {
  const order = await page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    const ended: string[] = [];
    const chat = (name: string, content: string) =>
      client.chat.completions
        .create({ model: 'amber-phoenix-4', messages: [{ role: 'user', content }], max_tokens: 1 })
        .then(
          () => ended.push(name),
          (error: unknown) => ended.push(`${name} ${(error as { code: string }).code}`),
        );
    // The long prompt then has a lower slot than most: llama.cpp begins with the highest, and goes on with the one used longest ago.
    for (const prompt of ['Once upon a time', '1, 2, 3,'])
      await client.completions.create({ model: 'amber-phoenix-4', prompt, max_tokens: 1 });
    const long = chat('long', 'The moon and the river. '.repeat(300));
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (let at = 0; at < 4; at++) await chat('refused', `${at} ${'word '.repeat(20_000)}`);
    await chat('short', 'Name a tree.');
    await long;
    return ended;
  }, key);
  const refused = 'refused context_length_exceeded';
  expect(order).toEqual([refused, refused, refused, refused, 'short', 'long']);
});
