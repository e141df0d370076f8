import { expect, test } from 'vitest';

import { stopServiceWorker } from '../../support/service-worker-control.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import type { Tab } from './support/tab.ts';

const lent = siteOfTabs({}, ['amber-phoenix-4']);

/** Opens a dialog, as of a page that asks the user something; the function that it resolves to closes it. */
async function openDialog({ page }: Tab): Promise<() => Promise<void>> {
  const opened = page.waitForEvent('dialog');
  const closed = page.evaluate(() => alert('Are you sure?'));
  const dialog = await opened;
  return async () => {
    await dialog.accept();
    await closed;
  };
}

test('a dialog is open in the leading tab: other tabs are answered', async () => {
  const leader = lent.kept;
  const tab = await lent.open();
  const { epoch } = await tab.status();
  const release = await openDialog(leader);
  // It has no link to the engine then.
  await stopServiceWorker(tab.page);
  try {
    for (const stream of [true, false]) {
      const run = await tab.run(counting({ max_tokens: 4, stream }), 30_000);
      expect(run).toMatchObject({ finish: { 0: 'length' }, error: null });
    }
    await tab.load(['jade-mole-4']);
    expect((await tab.run({ input: 'A mole.' }, 30_000)).error).toBe(null);
    expect((await tab.status()).epoch).toBe(epoch);
  } finally {
    await release();
  }
  expect((await leader.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});

test('a tab that a dialog blocks before its engine has started is replaced by another', async () => {
  await lent.leave();
  const leader = await lent.open({ start: 'none' });
  const opened = leader.page.waitForEvent('dialog');
  const closed = leader.page.evaluate(async () => {
    const started = window.lifetime.start({ isolation: [] });
    const leads = async () =>
      (await navigator.locks.query()).held?.some(({ name }) => name === 'localtext:leader');
    while (!(await leads()));
    alert('Are you sure?');
    await started;
  });
  const dialog = await opened;
  const tab = await lent.open();
  for (const isClosed of [false, true]) {
    expect((await tab.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
    expect(await tab.leads()).toBe(true);
    if (!isClosed) await dialog.accept();
  }
  await closed;
});
