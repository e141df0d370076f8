import type { Request } from 'playwright';
import { expect, onTestFinished, test } from 'vitest';

import { browserOfFile } from '../../support/browser-of-file.ts';
import { ask, openExample } from '../support/drive.ts';
import { workboxVariant } from '../support/workbox-variant.ts';

const browser = browserOfFile();

/** The recipes of docs/service-worker.md. */
test.each([
  [
    'injectManifest',
    `strategies: 'injectManifest', srcDir: 'src', filename: 'sw.js', injectManifest: { globIgnores: globIgnores(), globPatterns }`,
  ],
  [
    'generateSW',
    `workbox: { globIgnores: globIgnores(), globPatterns, importScripts: ['localtext-sw-import.js'] }`,
  ],
])('vite-plugin-pwa, %s: chats without a network after one reply', async (mode, settings) => {
  const { url, stop } = await workboxVariant(
    `own-worker-${mode}`,
    // Workbox finds its list by one mention of this name.
    `import { addLocaltext } from 'localtext/sw';
     import { precacheAndRoute } from 'workbox-precaching';
     addLocaltext();
     precacheAndRoute(self.__WB_MANIFEST);`,
    `import localtext, { globIgnores } from 'localtext/vite';
     import { VitePWA } from 'vite-plugin-pwa';
     const globPatterns = ['**/*.{html,js,css,svg,webmanifest}'];
     export default {
       plugins: [localtext(), VitePWA({ injectRegister: false, manifest: false, ${settings} })],
       build: { target: 'es2023' },
     };`,
  );
  // The server has ranges: no part of the weights may be asked for and thrown away.
  const broken: string[] = [];
  const onFailed = (request: Request): void => {
    const name = request.url();
    // Only the first bytes of the engine's file are checked.
    if (name.includes('/models/')) broken.push(`${name} ${request.failure()?.errorText}`);
  };
  browser.context.on('requestfailed', onFailed);
  onTestFinished(() => void browser.context.off('requestfailed', onFailed));
  const { page, faults } = await openExample(browser.context, url);
  expect(await ask(page)).toMatch(/\w{3}/);
  expect(broken).toEqual([]);
  await stop();
  await page.reload();
  expect(await ask(page)).toMatch(/\w{3}/);
  expect(faults).toEqual([]);
  await page.close();
});
