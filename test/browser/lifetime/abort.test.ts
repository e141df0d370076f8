import { expect, test } from 'vitest';

import type { Body } from './site/run.ts';
import { killEngine } from './support/kill.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import { PAGE, Tab } from './support/tab.ts';

const lent = siteOfTabs({}, ['amber-phoenix-4']);

/** It does not give way. */
const long = counting({ max_tokens: 3000, logit_bias: { 2: -100 } });
/** Some 1,500 tokens: seconds of prefill. */
const wordy = (word: string): Body => ({
  messages: [{ role: 'user', content: `Repeat: ${`${word} two three four five `.repeat(300)}` }],
  max_tokens: 1,
});

/** So many requests are left in the engine, and `other`, which is as long as those that have ended, is one of them. */
async function leaves(tab: Tab, count: number, other: string): Promise<void> {
  await expect.poll(() => tab.busy(), { interval: 10, timeout: 60_000 }).toBe(count);
  expect(await tab.hasEnded(other)).toBe(false);
}

test('an abort frees the engine at every stage', async () => {
  const tab = await lent.open();
  const other = await tab.begin(long);
  await tab.deltas(other, 1);
  for (const n of [1, 2]) {
    const name = await tab.begin({ ...long, n });
    await tab.deltas(name, 3);
    await tab.abort(name);
    await leaves(tab, 1, other);
    expect((await tab.ended(name)).finish).toEqual({});
  }

  const running = await Promise.all(Array.from({ length: 3 }, () => tab.begin(long)));
  const queued = await tab.begin(long);
  await expect.poll(() => tab.busy()).toBe(5);
  await tab.abort(queued);
  await leaves(tab, 4, other);
  for (const name of running) await tab.abort(name);
  await leaves(tab, 1, other);
  await tab.abort(other);
  await tab.untilFree();

  const prefills = [await tab.begin(wordy('one')), await tab.begin(wordy('six'))] as const;
  await expect.poll(() => tab.busy(), { interval: 10 }).toBe(2);
  await tab.abort(prefills[1]);
  // It is cut in pieces: the one under way is computed to its end.
  await leaves(tab, 1, prefills[0]);
  await tab.abort(prefills[0]);

  await killEngine(lent.kept.page);
  const loading = await tab.begin(long);
  await expect
    .poll(async () => (await tab.status()).models.some(({ state }) => state === 'loading'), { interval: 10 })
    .toBe(true);
  // Unseen until the headers are sent, once the model is there.
  await tab.abort(loading);
  await tab.untilFree();
  expect((await tab.ended(loading)).finish).toEqual({});
  expect((await tab.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});

test('leaving a tab and removing an iframe count as aborts', async () => {
  const leader = await lent.open();
  const other = await leader.begin(long);
  await leader.deltas(other, 1);
  for (const stream of [true, false]) {
    const tab = await lent.open();
    const name = await tab.begin({ ...long, stream });
    if (stream) await tab.deltas(name, 3);
    await expect.poll(() => leader.busy()).toBe(2);
    await tab.page.goto('about:blank');
    await leaves(leader, 1, other);
  }

  const { page, key } = await lent.open();
  await page.evaluate(
    async ([path, apiKey, body]) => {
      const frame = document.createElement('iframe');
      frame.src = path;
      const loaded = new Promise((resolve) => frame.addEventListener('load', resolve));
      document.body.append(frame);
      await loaded;
      const inner = frame.contentWindow as Window | null;
      inner?.lifetime.begin('framed', apiKey, body);
      while ((inner?.lifetime.runs['framed']?.deltas ?? 0) < 3)
        await new Promise((resolve) => setTimeout(resolve, 10));
      frame.remove();
    },
    [PAGE, key, long] as const,
  );
  await leaves(leader, 1, other);
  await leader.abort(other);
  await leader.untilFree();
});

test('a tab that leads and asks is closed at once: the next engine does not load the model for its request', async () => {
  await lent.leave();
  const [leader, other] = [await lent.open(), await lent.open()];
  await leader.run(counting({ max_tokens: 2 }));
  await leader.begin(long);
  const requests = async () => {
    const { held, pending } = await other.locks();
    return [...held, ...pending].filter((name) => /:request:(?!status-)/.test(name)).length;
  };
  await expect.poll(requests, { interval: 5 }).toBeGreaterThan(0);
  await leader.page.close();
  await expect.poll(requests, { interval: 20, timeout: 20_000 }).toBe(0);
  expect((await other.status()).models.map(({ state }) => state)).not.toContain('ready');
  expect((await other.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});
