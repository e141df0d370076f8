import { expect, test } from 'vitest';

import { REQUESTS } from '../../chaos/requests.ts';
import type { Run } from './site/run.ts';
import { crash, engineOf } from './support/kill.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import type { Tab } from './support/tab.ts';

const lent = siteOfTabs();

const same = (kind: string, run: Run, undisturbed: Run): void => {
  expect(run.error).toBeNull();
  expect({ text: run.text, finish: run.finish }).toEqual({
    text: undisturbed.text,
    finish: undisturbed.finish,
  });
  // A grammar prescribes a text, and not its tokens: "four" can be one or several.
  if (kind !== 'by a schema') expect(run.usage?.completion_tokens).toBe(undisturbed.usage?.completion_tokens);
  expect(run.usage?.prompt_tokens).toBe(undisturbed.usage?.prompt_tokens);
};

test('tabs share one engine: another takes over when its tab closes or crashes, and replies go on', async () => {
  const [first, asker] = [lent.kept, await lent.open()];
  expect([await first.leads(), await asker.leads()]).toEqual([true, false]);
  const undisturbed = new Map<string, Run>();
  // The ways of a reply: resumed, several at once, run again, in one piece, embeddings.
  const kinds = ['streamed, longer', 'two choices', 'by a schema', 'in one piece', 'embeddings'] as const;
  for (const kind of kinds) undisturbed.set(kind, await asker.run(REQUESTS[kind]));
  const engines = (): number => lent.context.pages().filter((page) => engineOf(page)).length;
  expect(engines()).toBe(1);
  expect(engineOf(first.page)).toBeDefined();
  await expectStatusEvents(asker);

  let leader = first;
  for (const end of ['close', 'crash'] as const) {
    const heir = await lent.open();
    const names = new Map<string, string>();
    for (const kind of end === 'close' ? kinds : (['streamed, longer', 'embeddings'] as const))
      names.set(kind, await asker.begin(REQUESTS[kind]));
    await asker.deltas(names.get('streamed, longer') ?? '', 4);
    const at = Date.now();
    if (end === 'crash') await crash(leader.page);
    await leader.page.close();
    for (const [kind, name] of names) {
      const run = await asker.ended(name);
      const before = undisturbed.get(kind);
      if (before) same(kind, run, before);
    }
    console.log(`${end} of the leader: all ${names.size} replies whole after ${Date.now() - at} ms`);
    expect(engines()).toBe(1);
    const leads = await Promise.all([asker, heir].map((tab) => tab.leads()));
    expect(leads.filter(Boolean)).toHaveLength(1);
    if (leads[0]) {
      // The next leader to end must be another than the tab that asks.
      await asker.page.evaluate(() => window.lifetime.handle().stop());
      await asker.page.reload();
      await asker.start();
    }
    leader = heir;
    await heir.untilFree();
  }
});

async function expectStatusEvents(tab: Tab): Promise<void> {
  const seen = (): Promise<number> => tab.page.evaluate(() => window.lifetime.events.status);
  const before = await seen();
  await tab.run(counting({ max_tokens: 4 }));
  await expect.poll(seen).toBeGreaterThan(before);
  const { models } = await tab.status();
  expect(models.find(({ id }) => id === 'amber-phoenix-4')).toMatchObject({ state: 'ready' });
}
