import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';

import { delay } from '../../src/base/async.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { stopServiceWorker } from '../support/service-worker-control.ts';
import { send } from '../support/send.ts';
import { catalogOf, ggufVariant, modelOf } from '../support/catalogs.ts';

const origin = inject('siteUrl');
let page: Page;
let keyId: string;

const files = [{ path: 'own/model.gguf', bytes: 1, sha256: 'a'.repeat(64) }];
const catalog = catalogOf(modelOf('own-1', [ggufVariant('own', { files })]));

const full = {
  name: 'LocaltextError',
  code: 'storage_full',
  message: expect.stringContaining('weights.delete()') as string,
};

/** Null: it was saved. */
const failureOf = (call: 'issue' | 'ensure' | 'rotate' | 'revoke') =>
  page.evaluate(
    async ([name, id]) => {
      const { keys } = await window.localtext;
      const asked = name === 'issue' || name === 'ensure' ? keys[name]({ label: 'full' }) : keys[name](id);
      const failure: unknown = await asked.then(
        () => null,
        (error: unknown) => error,
      );
      if (!(failure instanceof Error)) return null;
      return { name: failure.name, code: 'code' in failure ? failure.code : null, message: failure.message };
    },
    [call, keyId] as const,
  );

/** Chromium remembers for half a minute how much room there was, or until nobody has used the database for 2 s. */
async function reopen(): Promise<void> {
  const url = page.url();
  await stopServiceWorker(page);
  await page.close();
  await delay(3000);
  page = await page.context().newPage();
  await page.goto(url);
}

test('on a full storage a page starts, keys that cannot be saved are a named error, and the old ones stay good', async () => {
  const context = await launch();
  // On a page of no site: it outlives the others.
  const browser = await context.newCDPSession(await context.newPage());
  const opened = await openPage(context, origin, { catalog });
  ({ page, keyId } = opened);
  await browser.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1 });
  await reopen();
  await expect.poll(() => failureOf('issue'), { timeout: 90_000, interval: 1000 }).toEqual(full);
  for (const call of ['ensure', 'rotate', 'revoke'] as const) expect(await failureOf(call)).toEqual(full);
  await browser.send('Storage.overrideQuotaForOrigin', { origin });
  expect(await send(page, opened.key, '/v1/models')).toMatchObject({
    status: 200,
    body: { data: [{ id: 'own-1' }] },
  });
});

test('a page whose site data is cleared installs its service worker and catalog again', async () => {
  const context = await launch();
  const tab = await openPage(context, origin, { catalog });
  const devtools = await context.newCDPSession(tab.page);
  await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  const issue = () =>
    tab.page.evaluate(async () => (await (await window.localtext).keys.issue({ label: 'again' })).key);
  const models = async () => send(tab.page, await issue(), '/v1/models');
  await expect
    .poll(() => models().catch(String), { timeout: 30_000, interval: 1000 })
    .toMatchObject({ status: 200, body: { data: [{ id: 'own-1' }] } });
  expect(await send(tab.page, tab.key, '/v1/models')).toMatchObject({ status: 401 });
  const chat = { model: 'own-1', messages: [{ role: 'user', content: 'Hi' }] };
  expect((await send(tab.page, await issue(), '/v1/chat/completions', chat)).text).toMatch(
    /data was cleared.* Reload/,
  );
});
