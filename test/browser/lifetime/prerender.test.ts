import { text } from 'node:stream/consumers';

import { expect, inject, onTestFinished, test } from 'vitest';

import { startProcess } from '../../browsers/support/processes.ts';
import { AlteredSite } from '../../support/altered-site.ts';
import { findBrowser } from '../../support/find-browser.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { PAGE } from './support/tab.ts';

/** Longer than `start()` waits for an answer of the service worker. */
const UNSEEN_MS = 12_000;

// Chromium prerenders no page that is driven: the pages lead on themselves, and report to the server.
test('start() in a page that is prerendered waits until it is shown', async () => {
  const site = await AlteredSite.start(inject('siteUrl'));
  const page = await (await fetch(inject('siteUrl') + PAGE)).text();
  const serve = (path: string, body: string): unknown =>
    site.handlers.set(path, (_, answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end(body));
  const onStart = (then: string): string => `${page}<script>addEventListener('load', async () => {
    const { prerendering } = document;
    const start = lifetime.start({ isolation: [], workerUrl: '/counting-worker.js' });
    const result = await start.then(() => 'started', String);
    ${then}
  })</script>`;
  serve('/first.html', onStart(`location.href = '/second.html';`));
  serve(
    '/second.html',
    `<script type="speculationrules">{ "prerender": [{ "source": "list", "urls": ["/third.html"] }] }</script>
     <script>setTimeout(() => (location.href = '/third.html'), ${UNSEEN_MS});</script>`,
  );
  serve(
    '/third.html',
    onStart(`fetch('/result', { method: 'POST', body: JSON.stringify({ prerendering, result }) });`),
  );
  const reported = new Promise<string>((resolve) => {
    site.handlers.set('/result', (asked, answer) => {
      answer.end();
      resolve(text(asked));
    });
  });
  const profile = await tempFolder('prerender');
  const browser = startProcess(findBrowser(), [
    '--headless=new',
    '--no-sandbox',
    '--no-first-run',
    `--user-data-dir=${profile}`,
    `${site.url}/first.html`,
  ]);
  onTestFinished(() => browser.stop());
  expect(JSON.parse(await reported)).toEqual({ prerendering: true, result: 'started' });
});
