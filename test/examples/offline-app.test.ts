import type { Page } from 'playwright';
import { expect, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { ask, openExample } from './support/drive.ts';
import { preview } from './support/vite-server.ts';
import { tempFolder } from '../support/temp-folder.ts';

async function installFaults(page: Page): Promise<unknown[]> {
  const session = await page.context().newCDPSession(page);
  return (await session.send('Page.getInstallabilityErrors')).installabilityErrors;
}

test('offline-chat: installable, and goes on with the conversation after a reload without its server', async () => {
  const server = await preview('offline-chat');
  const context = await launch();
  const { page, faults } = await openExample(context, server.url);
  await ask(page);
  const entries = page.locator('li');
  const conversation = await entries.allInnerTexts();
  expect(conversation).toEqual(['Name the capital of France.', expect.stringMatching(/\w{3}/)]);
  expect(await installFaults(page)).toEqual([]);
  await server.stop();
  await page.reload();
  expect(await entries.allInnerTexts()).toEqual(conversation);
  await ask(page, 'Is it a large city?');
  expect(await entries.count()).toBe(4);
  expect(await entries.last().innerText()).toMatch(/\w{3}/);
  await page.locator('input[name=prompt]').fill('Name a river.');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.locator('form button:enabled').waitFor();
  await page.reload();
  expect(await entries.count()).toBe(0);
  expect(faults).toEqual([]);
});

test("workbox-site: the site's own Workbox worker installs an app that chats in flight mode", async () => {
  const server = await preview('workbox-site');
  const profile = await tempFolder('flight');

  const first = await launch({ profile });
  const online = await openExample(first, server.url);
  expect(await ask(online.page)).toMatch(/\w{3}/);
  expect(await installFaults(online.page)).toEqual([]);
  const workers = await online.page.evaluate(async () =>
    (await navigator.serviceWorker.getRegistrations()).map(({ active }) => active?.scriptURL),
  );
  expect(workers).toEqual([`${server.url}sw.js`]);
  const caches = await online.page.evaluate(() => globalThis.caches.keys());
  expect(caches.filter((name) => name.startsWith('workbox-precache')).length).toBe(1);
  expect(online.faults).toEqual([]);
  await first.close();
  await server.stop();

  // Another process of the browser, on the same profile, and nothing that would answer.
  const second = await launch({ profile });
  const offline = await openExample(second, `${server.url}somewhere/in/the/app`);
  expect(await offline.page.title()).toBe('Flight mode');
  await offline.page.goto(server.url);
  expect(await ask(offline.page)).toMatch(/\w{3}/);
  expect(offline.page.url()).toBe(server.url);
});
