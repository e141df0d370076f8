import { expect, test } from 'vitest';

import { REQUESTS } from '../../chaos/requests.ts';
import { engineOf, killEngine } from './support/kill.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import type { Tab } from './support/tab.ts';

const lent = siteOfTabs();

/** They take a second or more, beside chats. */
const MANY_TEXTS = {
  input: Array.from({ length: 16 }, (_, index) => `${index}: ${'the weather is lovely today, '.repeat(12)}`),
};

/** The worker comes back by itself. */
const engineIsThere = (tab: Tab): Promise<void> =>
  expect.poll(() => engineOf(tab.page), { interval: 20, timeout: 20_000 }).toBeDefined();

test('the worker dies: replies go on where they were, and what had sent nothing is run again', async () => {
  const tab = lent.kept;
  const chats = ['streamed, longer', 'by a schema', 'with log probabilities'] as const;
  const kinds = [...chats, 'embeddings'] as const;
  const requests = { ...REQUESTS, embeddings: MANY_TEXTS };
  const undisturbed = [];
  for (const kind of kinds) undisturbed.push(await tab.run(requests[kind]));
  const names = [];
  for (const kind of chats) names.push(await tab.begin(requests[kind]));
  for (const name of names) await tab.deltas(name, 3);
  names.push(await tab.begin(requests.embeddings));
  for (const name of names) expect(await tab.hasEnded(name)).toBe(false);
  const at = Date.now();
  await killEngine(tab.page);
  for (const [index, name] of names.entries()) {
    const run = await tab.ended(name);
    console.log(`${kinds[index]}: whole ${Date.now() - at} ms after the worker died`);
    expect(run.error).toBeNull();
    expect(run.text).toEqual(undisturbed[index]?.text);
    expect(run.usage?.total_tokens).toBe(undisturbed[index]?.usage?.total_tokens);
  }
});

test('the worker dies again and again before a word has come: at the third time the client is told', async () => {
  const tab = lent.kept;
  await tab.run(counting({ max_tokens: 2 }));
  await killEngine(tab.page);
  const name = await tab.begin(counting());
  for (let death = 0; death < 3; death++) {
    await engineIsThere(tab);
    await expect
      .poll(
        async () =>
          (await tab.status()).models.some(({ state, queued }) => state === 'loading' || queued > 0),
        {
          interval: 20,
          timeout: 20_000,
        },
      )
      .toBe(true);
    await killEngine(tab.page);
  }
  const run = await tab.ended(name);
  expect(run.error).toMatchObject({ code: 'engine_failed' });
  expect((await tab.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});
