import type { ServerResponse } from 'node:http';

import type { BrowserContext } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { DEFAULT_CATALOG_HASH } from '../../../src/catalog/default-catalog-hash.ts';
import { AlteredSite } from '../../support/altered-site.ts';
import { launch } from '../../support/launch.ts';
import { deployBeside } from '../../support/site-builds.ts';
import { smallChat } from '../../support/small-chat.ts';
import { counting } from './support/site-of-tabs.ts';
import { PAGE, Tab } from './support/tab.ts';

let context: BrowserContext;
let site: AlteredSite;

beforeAll(async () => {
  site = await AlteredSite.start(inject('siteUrl'));
  context = await launch();
});

test('a tab whose page may start no worker lets another tab run the engine', async () => {
  const path = `${PAGE}?policy`;
  const page = await (await fetch(site.url + PAGE)).text();
  site.handlers.set(path, (_, answer: ServerResponse) =>
    answer
      .writeHead(200, { 'content-type': 'text/html', 'content-security-policy': "worker-src 'none'" })
      .end(page),
  );
  const blocked = await Tab.open(context, site.url, { path, start: 'fetch' });
  const { error } = await blocked.run({ input: 'a' });
  expect(error).toMatchObject({ code: 'worker_blocked' });
  const tab = await Tab.open(context, site.url);
  await expect.poll(() => tab.leads(), { timeout: 20_000 }).toBe(true);
  await expect.poll(async () => (await tab.status()).epoch).not.toBe('');
  await Promise.all([blocked, tab].map((each) => each.page.close()));
});

test('the engine has the settings of the last tab that started, and stays where they are the same', async () => {
  const { catalog, serve } = await smallChat();
  serve(site);
  const model = catalog.models.find(({ id }) => id === 'amber-phoenix-4');
  if (!model) throw new Error('the default catalog has no amber-phoenix-4');
  const later = { ...catalog, models: [...catalog.models, { ...model, id: 'second-build' }] };
  const body = counting({ max_tokens: 2, model: 'second-build' });

  const old = await Tab.open(context, site.url, { catalog });
  expect((await old.run(counting({ max_tokens: 2 }))).error).toBeNull();
  expect((await old.run(body)).error).toMatchObject({ code: 'model_not_found' });
  const tab = await Tab.open(context, site.url, { catalog: later });
  for (const asker of [tab, old]) expect((await asker.run(body)).error).toBeNull();
  expect(await Promise.all([old, tab].map((each) => each.leads()))).toEqual([false, true]);

  const { epoch } = await tab.status();
  const same = await Tab.open(context, site.url, { catalog: later });
  expect((await same.run(body)).error).toBeNull();
  expect((await same.status()).epoch).toBe(epoch);
});

test('a tab of a build with another default catalog gets the engine that has it', async () => {
  const beside = await deployBeside(site, (script) =>
    script.replaceAll('indigo-owl-4', 'second-build').replaceAll(DEFAULT_CATALOG_HASH, 'of-the-second'),
  );
  const old = await Tab.open(context, site.url);
  const ids = async (tab: Tab): Promise<string[]> => (await tab.status()).models.map(({ id }) => id);
  await expect.poll(() => ids(old)).toContain('indigo-owl-4');
  const tab = await Tab.open(context, site.url, { path: beside });
  await expect.poll(() => ids(tab)).toContain('second-build');
  expect(await Promise.all([old, tab].map((each) => each.leads()))).toEqual([false, true]);
});
