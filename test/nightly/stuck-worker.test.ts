import { expect, test } from 'vitest';

import { engineOf } from '../browser/lifetime/support/kill.ts';
import { counting, siteOfTabs } from '../browser/lifetime/support/site-of-tabs.ts';

const lent = siteOfTabs({}, ['amber-phoenix-4']);

test('an engine worker that hangs is replaced, and the reply continues', async () => {
  const tab = lent.kept;
  const undisturbed = await tab.run(counting());
  const name = await tab.begin(counting());
  await tab.deltas(name, 3);
  const at = Date.now();
  await engineOf(tab.page)?.evaluate(() => {
    setTimeout(() => {
      for (;;);
    });
  });
  const run = await tab.ended(name, 90_000);
  console.log(`whole ${Date.now() - at} ms after the worker stopped`);
  expect(run.error).toBeNull();
  expect(run.text).toEqual(undisturbed.text);
});
