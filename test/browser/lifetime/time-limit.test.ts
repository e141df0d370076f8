import { expect, test } from 'vitest';

import { counting, siteOfTabs } from './support/site-of-tabs.ts';

const lent = siteOfTabs();

test.each([1, 2])('what a client sends again at its time limit runs once: %d choices', async (n) => {
  const tab = await lent.open();
  await tab.watch();
  const before = (await tab.log()).length;
  const body = counting({ n, max_tokens: 1500, stream: false, logit_bias: { 2: -100 } });
  const name = await tab.begin(body, { timeout: 1000, maxRetries: 2 });
  const most = await tab.page.evaluate(async (run) => {
    let jobs = 0;
    while (!window.lifetime.runs[run]?.ended) {
      const { models } = await window.lifetime.handle().status();
      jobs = Math.max(jobs, ...models.map(({ running, queued }) => running + queued));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return jobs;
  }, name);
  const { error } = await tab.ended(name);
  await tab.untilFree();
  // None of them is computed to its end.
  await expect
    .poll(async () => (await tab.log()).slice(before).map(({ status }) => status))
    .toEqual([408, 408, 408]);
  expect(most).toBe(n);
  expect(error?.message).toBe('Request timed out.');
  await tab.page.close();
});
