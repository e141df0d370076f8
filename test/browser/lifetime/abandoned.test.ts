import { expect, test } from 'vitest';

import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import type { Tab } from './support/tab.ts';

const lent = siteOfTabs(undefined, ['amber-phoenix-4']);

/** Running and waiting jobs of the chat model. */
async function load(tab: Tab): Promise<{ running: number; queued: number }> {
  const { models } = await tab.status();
  const { running = 0, queued = 0 } = models.find(({ id }) => id === 'amber-phoenix-4') ?? {};
  return { running, queued };
}

test('a streamed chat of another tab takes the slot of one of four long ones, which continues after it', async () => {
  const [tab, other] = [await lent.open(), await lent.open()];
  const long = counting({ max_tokens: 100, logit_bias: { 2: -100 } });
  const undisturbed = await tab.run(long);
  const names: string[] = [];
  for (let count = 0; count < 4; count++) names.push(await tab.begin(long));
  for (const name of names) await tab.deltas(name, 3);
  expect(await load(tab)).toEqual({ running: 4, queued: 0 });
  const short = await other.run(counting({ max_tokens: 8 }));
  expect(short.finish).toEqual({ 0: 'length' });
  for (const name of names) expect(await tab.hasEnded(name)).toBe(false);
  for (const name of names) {
    const { text, finish, error, usage } = await tab.ended(name);
    expect({ text, finish, error }).toEqual({ text: undisturbed.text, finish: { 0: 'length' }, error: null });
    expect(usage?.completion_tokens).toBe(100);
  }
});
