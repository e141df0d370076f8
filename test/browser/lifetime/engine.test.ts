import { expect, test } from 'vitest';

import { REQUESTS } from '../../chaos/requests.ts';
import type { Body } from './site/run.ts';
import { siteOfTabs } from './support/site-of-tabs.ts';

const lent = siteOfTabs();

/** They take a second or more, beside chats. */
const MANY_TEXTS = {
  input: Array.from({ length: 16 }, (_, index) => `${index}: ${'the weather is lovely today, '.repeat(12)}`),
};

test('the worker dies: replies go on where they were, and what had sent nothing is run again', async () => {
  const tab = lent.kept;
  const kinds = ['by a schema', 'streamed, longer', 'embeddings'] as const;
  const requests = { ...REQUESTS, embeddings: MANY_TEXTS };
  const undisturbed = [];
  for (const kind of kinds) undisturbed.push(await tab.run(requests[kind]));
  const names = await tab.page.evaluate(
    ([key, [first, ...others]]) =>
      new Promise<string[]>((resolve) => {
        const { lifetime } = window;
        const begun = ['schema', 'longer', 'texts'];
        // A call from the test would come after replies that take a few steps.
        lifetime.onDelta = (name, { deltas }) => {
          if (name === begun[0] && deltas === 1)
            for (const [index, body] of others.entries()) lifetime.begin(begun[index + 1] ?? '', key, body);
          if (name !== begun[1] || deltas !== 2) return;
          lifetime.killEngine();
          resolve(begun);
        };
        if (first) lifetime.begin(begun[0] ?? '', key, first);
      }),
    [tab.key, kinds.map((kind): Body => requests[kind])] as const,
  );
  const at = Date.now();
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
