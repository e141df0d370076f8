import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';

import { delay } from '../../../src/base/async.ts';
import { stopServiceWorker } from '../../support/service-worker-control.ts';
import type { Run } from './site/run.ts';
import { counting, siteOfTabs, storedResponse } from './support/site-of-tabs.ts';
import { send } from '../../support/send.ts';

const lent = siteOfTabs({}, ['amber-phoenix-4']);

const stored = storedResponse(4);
const embedded = { input: ['The weather is lovely today.'] };

/** The text of a stored response, or the status where there is none. */
async function textOf(page: Page, key: string, id: string): Promise<unknown> {
  type Response = { output?: { content: { text: string }[] }[] };
  const { status, body } = await send<Response>(page, key, `/v1/responses/${id}`);
  return body.output?.[0]?.content[0]?.text ?? status;
}

test('on a full storage requests are answered, say that they are not stored, and what was stored stays', async () => {
  const tab = await lent.open();
  const limited = await tab.page.evaluate(async () => {
    const { keys } = window.lifetime.handle();
    return (await keys.issue({ label: 'limited', limits: { requestsPerMinute: 1 } })).key;
  });
  const before = await tab.run(stored);
  expect(before.stored).toMatch(/^resp_/);
  const id = before.stored ?? '';
  const session = await lent.context.newCDPSession(lent.context.pages()[0] ?? tab.page);
  const origin = inject('siteUrl');
  await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1 });

  // Chromium remembers for half a minute how much room there was.
  let last: Run;
  const until = Date.now() + 90_000;
  do {
    last = await tab.run(stored);
    expect(last).toMatchObject({ error: null, text: before.text });
    await delay(1000);
  } while (last.stored !== null && Date.now() < until);
  expect(last.stored).toBeNull();
  expect(await tab.run(counting({ max_tokens: 2 }))).toMatchObject({ error: null, finish: { 0: 'length' } });
  expect((await tab.run(embedded)).error).toBeNull();
  expect(await textOf(tab.page, tab.key, id)).toBe(before.text[0]);

  // Limits hold without a place to store them.
  const own = tab.key;
  tab.key = limited;
  const codes = [];
  for (let count = 0; count < 3; count++)
    codes.push((await tab.run(counting({ max_tokens: 1 }))).error?.code);
  expect(codes).toEqual([undefined, 'rate_limit_exceeded', 'rate_limit_exceeded']);
  tab.key = own;

  await stopServiceWorker(tab.page);
  expect(await tab.run(counting({ max_tokens: 2 }))).toMatchObject({ error: null, finish: { 0: 'length' } });
  await session.send('Storage.overrideQuotaForOrigin', { origin });
  await expect.poll(async () => (await tab.run(stored)).stored, { timeout: 90_000 }).toMatch(/^resp_/);
  expect(await textOf(tab.page, tab.key, id)).toBe(before.text[0]);
});
