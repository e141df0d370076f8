import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, test } from 'vitest';

import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { firstLayers } from '../support/first-layers.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { StaticSite } from '../support/static-site.ts';
import { tempFolder } from '../support/temp-folder.ts';

const GGUF = 'public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q8_0.gguf';
const catalog = {
  ...defaultCatalog,
  models: defaultCatalog.models
    .filter(({ id }) => id === 'jade-mole-4')
    .map((model) => ({ ...model, variants: model.variants.filter(({ hub }) => !hub) })),
};
let chosen: string;
beforeAll(async () => {
  const folder = await tempFolder('added');
  chosen = join(folder, 'm.gguf');
  await writeFile(chosen, await firstLayers(GGUF, 2));
});
async function choose(page: Page): Promise<void> {
  await page.evaluate(() =>
    document.body.replaceChildren(Object.assign(document.createElement('input'), { type: 'file' })),
  );
  await page.locator('input[type=file]').setInputFiles(chosen);
}
const begin = (page: Page) =>
  page.evaluate(async () => {
    const { models } = await window.localtext;
    await models.list();
    const [gguf] = document.querySelector('input')?.files ?? [];
    if (!gguf) throw new Error('no file');
    (window as any).adding = models.add(gguf).then(
      (m: any) => m.id,
      (e: any) => `${e.code}: ${e.message}`,
    );
  });
const disk = (page: Page) =>
  page.evaluate(async () => {
    let folder = await navigator.storage.getDirectory();
    for (const name of ['localtext', 'weights']) folder = await folder.getDirectoryHandle(name, { create: true });
    const names: string[] = [];
    for await (const name of folder.keys()) names.push(name);
    const usage = await folder.getFileHandle('usage').then(async (h) => (await h.getFile()).text(), () => '{}');
    return { names: names.filter((n) => !n.startsWith('path-')).map((n) => n.replace(/[0-9a-f]{56}/, '')).toSorted(), usage: usage.slice(0, 400) };
  });
const state = (page: Page) =>
  page.evaluate(async () => {
    const { models, weights } = await window.localtext;
    const list = (await models.list()).map((m: any) => m.id);
    const { variants } = await weights.list();
    return { list, variants: variants.filter((v: any) => v.storedBytes > 0).map((v: any) => `${v.variant} ${v.state} ${v.storedBytes} [${v.models}]`) };
  });

async function killed(context: BrowserContext, page: Page): Promise<Page> {
  const other = await context.newPage();
  await page.close();
  return other;
}

test('kill at each moment', async () => {
  const site = await StaticSite.start();
  const context = await launch();
  let { page } = await openPage(context, site.url, { catalog });
  await choose(page);
  await begin(page);
  console.log('whole add', await page.evaluate(() => { const t = performance.now(); return (window as any).adding.then((r: any) => [r, performance.now() - t]); }), await state(page), await disk(page));
  for (const ms of [0, 15, 40, 80, 150, 300]) {
    const { list } = await state(page);
    if (list[0]) {
      await page.evaluate((id) => { void window.localtext.then(({ models }: any) => models.remove(id)); }, list[0]);
      await new Promise((r) => setTimeout(r, ms));
      const blank = await killed(context, page);
      ({ page } = await openPage(context, site.url, { catalog }));
      await blank.close();
      console.log('killed in remove at', ms, JSON.stringify(await state(page)), JSON.stringify(await disk(page)));
    }
    await choose(page);
    await begin(page);
    await new Promise((r) => setTimeout(r, ms * 3));
    const blank = await killed(context, page);
    ({ page } = await openPage(context, site.url, { catalog }));
    await blank.close();
    console.log('killed in add at', ms * 3, JSON.stringify(await state(page)), JSON.stringify(await disk(page)));
  }
  await choose(page);
  await begin(page);
  console.log('again', await page.evaluate(() => (window as any).adding));
  const { list } = await state(page);
  for (const id of list) await page.evaluate((target) => window.localtext.then(({ models }: any) => models.remove(target)), id);
  console.log('removed', JSON.stringify(await state(page)), JSON.stringify(await disk(page)));
});

test('little quota', async () => {
  const site = await StaticSite.start();
  const context = await launch();
  const { page } = await openPage(context, site.url, { catalog, limits: { evict: true } });
  const session = await context.newCDPSession(page);
  const quota = (quotaSize: number) => session.send('Storage.overrideQuotaForOrigin', { origin: site.url, quotaSize });
  await choose(page);
  for (const size of [1e6, 12e6, 30e6, 45e6, 60e6]) {
    await quota(size);
    await begin(page);
    console.log('quota', size, await page.evaluate(() => (window as any).adding), JSON.stringify(await state(page)), JSON.stringify((await disk(page)).names));
  }
  await quota(1e9);
  await page.evaluate(async () => { await (await window.localtext).ready('jade-mole-4'); });
  console.log('loaded', JSON.stringify(await state(page)));
  const { usedBytes } = await page.evaluate(async () => (await window.localtext).weights.list());
  await quota((usedBytes ?? 0) + 1e6);
  console.log('remove first', await page.evaluate(async () => { const { models } = await window.localtext; for (const { id } of await models.list()) await models.remove(id); return 'ok'; }).catch(String), JSON.stringify(await state(page)));
  await quota(40e6);
  await begin(page);
  console.log('evicting', await page.evaluate(() => (window as any).adding), JSON.stringify(await state(page)), JSON.stringify((await disk(page)).names));
});

test('two tabs: leader dies in add, both remove', async () => {
  const site = await StaticSite.start();
  const context = await launch();
  const { page } = await openPage(context, site.url, { catalog });
  const { page: second } = await openPage(context, site.url, { catalog });
  await choose(second);
  await begin(second);
  await page.close();
  console.log('after leader died', await second.evaluate(() => (window as any).adding), JSON.stringify(await state(second)));
  const { page: third } = await openPage(context, site.url, { catalog });
  const [id] = (await state(second)).list;
  const remove = (p: Page) => p.evaluate((target) => window.localtext.then(({ models }: any) => models.remove(target)).then(() => 'ok', (e: any) => `${e.code}: ${e.message}`), id);
  await choose(third);
  const both = await Promise.all([remove(second), remove(third), begin(third)]);
  console.log('both remove, third adds', both, await third.evaluate(() => (window as any).adding), JSON.stringify(await state(third)), JSON.stringify(await disk(third)));
});
