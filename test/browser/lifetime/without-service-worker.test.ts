import { expect, test } from 'vitest';

import { REQUESTS } from '../../chaos/requests.ts';
import { engineOf } from './support/kill.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';

const lent = siteOfTabs({}, []);

test('tabs share one engine, and replies go on when its tab closes', async () => {
  const [leader, asker] = [await lent.open({ start: 'fetch' }), await lent.open({ start: 'fetch' })];
  expect(await asker.page.evaluate(() => navigator.serviceWorker.controller)).toBeNull();
  const kinds = ['streamed, longer', 'two choices', 'embeddings'] as const;
  const undisturbed = [];
  for (const kind of kinds) undisturbed.push(await asker.run(REQUESTS[kind]));
  expect(engineOf(leader.page)).toBeDefined();
  expect(engineOf(asker.page)).toBeUndefined();

  const names = [];
  for (const kind of kinds) names.push(await asker.begin(REQUESTS[kind]));
  await asker.deltas(names[0] ?? '', 3);
  await leader.page.close();
  for (const [index, name] of names.entries()) {
    const { error, text, finish } = await asker.ended(name);
    expect({ error, text, finish }).toEqual({
      error: null,
      text: undisturbed[index]?.text,
      finish: undisturbed[index]?.finish,
    });
  }
  const aborted = await asker.begin(counting({ max_tokens: 400 }));
  await asker.deltas(aborted, 2);
  await asker.abort(aborted);
  expect((await asker.ended(aborted)).finish).toEqual({});
  expect((await asker.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});
