import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { expect, inject, test } from 'vitest';

import { browserOfFile } from '../support/browser-of-file.ts';
import { freePort } from '../support/static-site.ts';
import { ask, openExample } from './support/drive.ts';
import { serveFolder } from './support/plain-server.ts';
import { startVite } from './support/vite-server.ts';
import { linkModels } from './support/models.ts';
import { run } from './support/workspace.ts';

const examples = inject('examples');
const browser = browserOfFile();

test('vite-openai chats on the dev server', async () => {
  const folder = join(examples, 'vite-openai');
  await linkModels(join(folder, 'public'));
  const server = await startVite(folder, 'dev', await freePort(), '/app/');
  const { page, faults } = await openExample(browser.context, server.url);
  expect(await ask(page)).toMatch(/\w{3}/);
  const status = page.getByRole('status').last();
  expect(await status.innerText()).toBe('The reply is complete.');
  await page.locator('input[name=prompt]').fill('Tell a long story about the sea.');
  await page.getByRole('button', { name: 'Ask' }).click();
  await status.and(page.getByText('Answering…')).waitFor();
  await page.locator('.reply', { hasText: /\w/ }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Ask' }).and(page.locator(':enabled')).waitFor();
  expect(await status.innerText()).toBe('Stopped.');
  expect(faults).toEqual([]);
  await page.close();
});

test('language-model: a page written for Chrome alone answers where its own class has no model', async () => {
  const folder = join(examples, 'language-model');
  await linkModels(join(folder, 'public'));
  const server = await startVite(folder, 'dev', await freePort());
  const { page } = await openExample(browser.context, server.url);
  await page.getByText('the first question downloads one of 98 MB').waitFor();
  const status = page.getByRole('status').last();
  await status.and(page.getByText('The first question downloads the model.')).waitFor();
  expect(await ask(page)).toMatch(/\w{3}/);
  expect(await status.innerText()).toBe('The reply is complete.');
  await page.close();
});

test('plain-html: init copies all it needs; a host without headers still gets an isolated page', async () => {
  const folder = join(examples, 'plain-html');
  const said = await run(folder, 'npm', 'run', 'build');
  expect(said).toContain('localtext pull --to public/models');
  await linkModels(join(folder, 'public'));
  const server = await serveFolder(join(folder, 'public'));
  const { page, faults } = await openExample(browser.context, `${server.url}/`);
  expect(await ask(page)).toMatch(/\w{3}/);
  await page.reload();
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  // Its files are kept, as it was made with --offline.
  await server.stop();
  await page.reload();
  expect(await ask(page)).toMatch(/\w{3}/);
  expect(faults).toEqual([]);
  await page.close();
});

test('plain-html: after a start that failed, "Try again" leads to a chat', async () => {
  const folder = join(examples, 'plain-html');
  await run(folder, 'npm', 'run', 'build');
  await linkModels(join(folder, 'public'));
  const server = await serveFolder(join(folder, 'public'));
  const page = await browser.context.newPage();
  await page.addInitScript(() => {
    // Not again in the page that is reloaded for its isolation.
    if (sessionStorage.getItem('refused')) return;
    sessionStorage.setItem('refused', 'once');
    const { open } = IDBFactory.prototype;
    IDBFactory.prototype.open = () => {
      IDBFactory.prototype.open = open;
      throw new DOMException('refused', 'SecurityError');
    };
  });
  await page.goto(`${server.url}/`);
  await page.getByText('The browser refuses IndexedDB to this page').waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('button', { name: 'Download' }).click();
  expect(await ask(page)).toMatch(/\w{3}/);
  await page.close();
});

test.each(['--remove', '--remove=all'])(
  'localtext init %s removes a site from its visitors',
  async (flag) => {
    const folder = join(examples, 'plain-html');
    await run(folder, 'npm', 'run', 'build');
    const site = join(folder, 'public');
    await linkModels(site);
    const server = await serveFolder(site);
    const { page } = await openExample(browser.context, `${server.url}/`);
    expect(await ask(page)).toMatch(/\w{3}/);
    await run(folder, 'npx', 'localtext', 'init', 'public', flag);
    expect(existsSync(join(site, 'localtext'))).toBe(false);
    await page.reload();
    const left = () =>
      page.evaluate(async () => ({
        workers: (await navigator.serviceWorker.getRegistrations()).length,
        caches: (await caches.keys()).filter((name) => name !== 'localtext-weights').length,
        databases: (await indexedDB.databases()).length,
      }));
    const databases = flag === '--remove' ? 1 : 0;
    await expect.poll(left, { timeout: 30_000 }).toEqual({ workers: 0, caches: 0, databases });
    await page.close();
  },
);
