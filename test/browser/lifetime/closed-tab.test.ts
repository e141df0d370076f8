import type { Page } from 'playwright';
import { expect, test } from 'vitest';

import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import type { Tab } from './support/tab.ts';

const lent = siteOfTabs({});

/** Chromium asks only on a page that its user has touched. */
async function askBeforeUnload(page: Page): Promise<void> {
  await page.evaluate(() => addEventListener('beforeunload', (event) => event.preventDefault()));
  await page.mouse.click(5, 5);
}

async function confirmed(page: Page): Promise<void> {
  await askBeforeUnload(page);
  const closed = page.waitForEvent('close');
  page.on('dialog', (dialog) => void dialog.accept());
  await page.close({ runBeforeUnload: true });
  await closed;
}

const WAYS: Record<string, (page: Page) => Promise<unknown>> = {
  'is closed': (page) => page.close(),
  'is closed in spite of its question': async (page) => {
    await askBeforeUnload(page);
    await page.close();
  },
  'is closed by its user, who confirms': confirmed,
};

/** It would take minutes, and does not give way. */
const long = counting({ max_tokens: 1500, logit_bias: { 2: -100 } });
const MANY = 7;

/** Chats that are computed and others that wait, and embeddings. */
async function beginMany(tab: Tab): Promise<void> {
  for (const stream of [true, true, true, true, true, false]) await tab.begin({ ...long, stream });
  await tab.begin({ input: Array.from({ length: 2000 }, (_, at) => `${at} ${'a long text '.repeat(50)}`) });
}

/** The other tab's reply is whole, and the requests of the tab that is closed all end. */
async function closes(tab: Tab, other: Tab, close: (page: Page) => Promise<unknown>): Promise<void> {
  await other.watch();
  const name = await other.begin(counting({ max_tokens: 150, logit_bias: { 2: -100 } }));
  await other.deltas(name, 1);
  await beginMany(tab);
  await expect.poll(async () => (await other.log()).length).toBe(MANY + 1);
  expect(await other.hasEnded(name)).toBe(false);
  await close(tab.page);
  const { error, finish } = await other.ended(name, 120_000);
  expect({ error, finish }).toEqual({ error: null, finish: { 0: 'length' } });
  await other.untilFree();
  const states = (await other.log()).map(({ state }) => state);
  expect(states.toSorted()).toEqual([...Array<string>(MANY).fill('aborted'), 'done']);
}

test.each(Object.entries(WAYS))(
  'a tab that %s: its requests end, and those of others go on',
  async (_, close) => {
    const [tab, other] = [await lent.open(), await lent.open()];
    await closes(tab, other, close);
  },
);

test('a tab that leads is closed by its user: the same', async () => {
  const other = await lent.open();
  await closes(lent.kept, other, confirmed);
});
