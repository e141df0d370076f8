import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';

let context: BrowserContext;
let page: Page;
let key = '';

beforeAll(async () => {
  context = await launch();
  ({ page, key } = await openPage(context, inject('siteUrl')));
  await page.evaluate(async () => {
    const localtext = await window.localtext;
    for (const model of ['amber-phoenix-4', 'jade-mole-4']) await localtext.ready(model);
  });
});

afterAll(() => context.close());

interface Timed {
  status: number;
  message: string;
  ms: number;
}

/** Posts the bodies together, and a chat of one token beside them. A content is one pattern, repeated. */
async function post(bodies: { path: string; pattern: string; times: number }[]): Promise<{
  alone: Timed;
  beside: Timed;
  long: Timed[];
}> {
  return page.evaluate(
    async ([apiKey, requests]) => {
      const send = async (path: string, body: object): Promise<Timed> => {
        const began = performance.now();
        const response = await fetch(`/v1${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}` },
          body: JSON.stringify(body),
        });
        const { error } = (await response.json()) as { error?: { message: string } };
        return { status: response.status, message: error?.message ?? '', ms: performance.now() - began };
      };
      const chat = (content: string) => ({
        model: 'amber-phoenix-4',
        messages: [{ role: 'user', content }],
        max_tokens: 1,
        temperature: 0,
      });
      await send('/chat/completions', chat('Hi'));
      const alone = await send('/chat/completions', chat('Hi'));
      const long = requests.map(({ path, pattern, times }) => {
        const text = pattern.repeat(times);
        return send(path, path === '/embeddings' ? { model: 'jade-mole-4', input: text } : chat(text));
      });
      const beside = await send('/chat/completions', chat('Hi'));
      return { alone, beside, long: await Promise.all(long) };
    },
    [key, bodies] as const,
  );
}

test('a prompt of 4 MiB is refused without being tokenized, and holds nobody up', async () => {
  const { alone, beside, long } = await post([
    { path: '/chat/completions', pattern: 'word ', times: 800_000 },
    { path: '/chat/completions', pattern: ' ', times: 4_000_000 },
    { path: '/embeddings', pattern: 'word ', times: 800_000 },
    { path: '/embeddings', pattern: 'x', times: 4_000_000 },
  ]);
  for (const { status, message } of long) {
    expect(status).toBe(400);
    expect(message).toMatch(/context holds (8192|512) tokens/);
  }
  console.log(`alone ${alone.ms} ms, beside ${beside.ms} ms, long ${long.map(({ ms }) => ms).join(', ')} ms`);
  expect(beside.status).toBe(200);
  expect(beside.ms).toBeLessThan(2000 + 3 * alone.ms);
});

test('one that might have fitted is counted, and refused with its number of tokens', async () => {
  const { beside, long } = await post([{ path: '/chat/completions', pattern: 'word ', times: 20_000 }]);
  expect(long[0]).toMatchObject({ status: 400, message: expect.stringMatching(/takes 200\d\d\./) });
  expect(beside.status).toBe(200);
});
