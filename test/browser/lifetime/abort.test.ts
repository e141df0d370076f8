import { expect, test } from 'vitest';

import type { Body } from './site/run.ts';
import { killEngine } from './support/kill.ts';
import { counting, siteOfTabs } from './support/site-of-tabs.ts';
import { PAGE, Tab } from './support/tab.ts';

const lent = siteOfTabs({}, ['amber-phoenix-4']);

const long = counting({ max_tokens: 400 });
/** Some 150 tokens: seconds of prefill. */
const wordy = (word: string): Body => ({
  messages: [{ role: 'user', content: `Repeat: ${`${word} two three four five `.repeat(30)}` }],
  max_tokens: 1,
});

/** The next request after it must answer soon. */
async function freeAfter(tab: Tab, what: string, at: number): Promise<number> {
  const free = (await tab.untilFree()) - at;
  const next = await tab.run(counting({ max_tokens: 2 }));
  expect(next.finish).toEqual({ 0: 'length' });
  console.log(`${what}: free after ${free} ms`);
  return free;
}

test('an abort frees the engine at every stage', async () => {
  const tab = await lent.open();
  await tab.run(counting({ max_tokens: 2 }));
  const abort = async (what: string, name: string, mostMs: number): Promise<void> => {
    const at = Date.now();
    await tab.abort(name);
    expect(await freeAfter(tab, what, at)).toBeLessThan(mostMs);
    expect((await tab.ended(name)).finish).toEqual({});
  };

  for (const [what, body] of [
    ['decode, streamed', long],
    ['decode, two choices', { ...long, n: 2 }],
  ] as const) {
    const name = await tab.begin(body);
    await tab.deltas(name, 3);
    await abort(what, name, 2000);
  }
  const uninterrupted = await tab.run(wordy('one'));
  const wholeMs = (uninterrupted.endedAt ?? 0) - uninterrupted.startedAt;
  const prefill = await tab.begin(wordy('six'));
  await new Promise((resolve) => setTimeout(resolve, wholeMs / 10));
  // It is cut in pieces: the one under way is computed to its end.
  await abort(`prefill of ${Math.round(wholeMs)} ms`, prefill, 0.8 * wholeMs);

  const running = await Promise.all(Array.from({ length: 4 }, () => tab.begin(long)));
  const queued = await tab.begin(long);
  await expect
    .poll(async () => Math.max(...(await tab.status()).models.map((model) => model.queued)))
    .toBe(1);
  const at = Date.now();
  await tab.abort(queued);
  await expect
    // The headers are held for 2 s in a queue.
    .poll(async () => Math.max(...(await tab.status()).models.map((model) => model.queued)), {
      interval: 5,
      timeout: 3000,
    })
    .toBe(0);
  console.log(`queued: out of the line after ${Date.now() - at} ms`);
  for (const name of running) await tab.abort(name);
  // The prefill above is the measure of how busy the machine is.
  expect(await freeAfter(tab, 'four at once', Date.now())).toBeLessThan(Math.max(4000, wholeMs / 2));

  await killEngine(lent.kept.page);
  const loading = await tab.begin(long);
  await expect
    .poll(async () => (await tab.status()).models.some(({ state }) => state === 'loading'), { interval: 10 })
    .toBe(true);
  // Unseen until the headers are sent, once the model is there.
  await abort('loading', loading, 60_000);
});

test('closing a tab, leaving it and removing an iframe count as aborts', async () => {
  const leader = await lent.open();
  await leader.run(counting({ max_tokens: 2 }));
  const ways: Record<string, (tab: Tab) => Promise<unknown>> = {
    'a closed tab': (tab) => tab.page.close(),
    'a page that was left': (tab) => tab.page.goto('about:blank'),
  };
  for (const [what, leave] of Object.entries(ways)) {
    const tab = await lent.open();
    const name = await tab.begin(long);
    await tab.deltas(name, 3);
    const at = Date.now();
    await leave(tab);
    expect(await freeAfter(leader, what, at)).toBeLessThan(2000);
    if (!tab.page.isClosed()) await tab.page.close();

    const asker = await lent.open();
    await asker.begin({ ...long, stream: false });
    const running = async () => (await leader.status()).models.some((model) => model.running > 0);
    await expect.poll(running).toBe(true);
    const leftAt = Date.now();
    await leave(asker);
    expect(await freeAfter(leader, `${what}, in one piece`, leftAt)).toBeLessThan(3500);
    if (!asker.page.isClosed()) await asker.page.close();
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
  expect(await freeAfter(leader, 'an iframe that was removed', Date.now())).toBeLessThan(2000);
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
  const at = Date.now();
  await leader.page.close();
  await expect.poll(requests, { interval: 20, timeout: 20_000 }).toBe(0);
  console.log(`closed at once: ended after ${Date.now() - at} ms`);
  expect(Date.now() - at).toBeLessThan(3500);
  expect((await other.run(counting({ max_tokens: 2 }))).finish).toEqual({ 0: 'length' });
});
