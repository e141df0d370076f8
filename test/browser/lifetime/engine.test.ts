import { expect, test } from 'vitest';

import { REQUESTS } from '../../chaos/requests.ts';
import { killEngine } from './support/kill.ts';
import { siteOfTabs } from './support/site-of-tabs.ts';

const lent = siteOfTabs();

/** They take a second or more, beside chats. */
const MANY_TEXTS = {
  input: Array.from({ length: 16 }, (_, index) => `${index}: ${'the weather is lovely today, '.repeat(12)}`),
};

test('the worker dies: replies go on where they were, and what had sent nothing is run again', async () => {
  const tab = lent.kept;
  const chats = ['streamed, longer', 'by a schema'] as const;
  const kinds = [...chats, 'embeddings'] as const;
  const requests = { ...REQUESTS, embeddings: MANY_TEXTS };
  const undisturbed = [];
  for (const kind of kinds) undisturbed.push(await tab.run(requests[kind]));
  const names: string[] = [];
  // In turn: the one with the short prompt would end before the other begins.
  for (const kind of chats) {
    const name = await tab.begin(requests[kind]);
    await tab.deltas(name, 3);
    names.push(name);
  }
  names.push(await tab.begin(requests.embeddings));
  for (const name of names) expect(await tab.hasEnded(name)).toBe(false);
  const at = Date.now();
  await killEngine(tab.page);
  for (const [index, name] of names.entries()) {
    const run = await tab.ended(name);
    console.log(`${kinds[index]}: whole ${Date.now() - at} ms after the worker died`);
    expect(run.error).toBeNull();
    expect(run.text).toEqual(undisturbed[index]?.text);
    // A grammar prescribes a text, and not its tokens.
    if (kinds[index] !== 'by a schema')
      expect(run.usage?.total_tokens).toBe(undisturbed[index]?.usage?.total_tokens);
  }
});
