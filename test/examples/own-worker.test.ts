import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Page } from 'playwright';
import { expect, test } from 'vitest';

import { browserOfFile } from '../support/browser-of-file.ts';
import { ask, openExample } from './support/drive.ts';
import { workboxVariant } from './support/workbox-variant.ts';

const browser = browserOfFile();

/** The header with the key that the example has made for itself. */
async function askAndReadKey(page: Page): Promise<string> {
  // The model is loaded before it can be asked.
  const chat = page.waitForRequest(/\/v1\/chat\/completions$/, { timeout: 120_000 });
  expect(await ask(page)).toMatch(/\w{3}/);
  return (await chat).headers()['authorization'] ?? '';
}

test("an update of the site's own worker waits for a reply that streams, then takes over", async () => {
  const { folder, url } = await workboxVariant('own-worker-update');
  const { page, faults } = await openExample(browser.context, url);
  const authorization = await askAndReadKey(page);

  await appendFile(join(folder, 'dist/sw.js'), '\n// The next version.\n');
  const result = await page.evaluate(async (key) => {
    /** What never ends is named, where the test's own limit would name nothing. */
    const within = <T>(what: string, promise: Promise<T>): Promise<T> =>
      Promise.race([
        promise,
        new Promise<never>((_, reject) =>
          setTimeout(() => reject(new Error(`not within 60 s: ${what}`)), 60_000),
        ),
      ]);
    const tell = async (worker: ServiceWorker): Promise<string> => {
      const { port1, port2 } = new MessageChannel();
      const reply = new Promise<{ type: string; error?: { code: string } }>((resolve) => {
        port1.addEventListener('message', ({ data }) => resolve(data as { type: string }));
        port1.start();
      });
      worker.postMessage({ type: 'localtext:skip-waiting' }, [port2]);
      const { type, error } = await reply;
      return error?.code ?? type;
    };
    const response = await within(
      'the headers of a stream',
      fetch('/v1/chat/completions', {
        method: 'POST',
        headers: { authorization: key },
        body: JSON.stringify({
          model: 'amber-phoenix-4',
          messages: [{ role: 'user', content: 'Tell me a long story about the sea.' }],
          max_tokens: 30,
          temperature: 0,
          stream: true,
        }),
      }),
    );
    const registration = await navigator.serviceWorker.ready;
    const before = registration.active;
    await within('update() of the registration', registration.update());
    for (let i = 0; i < 100 && !registration.waiting; i++)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const { waiting } = registration;
    if (!waiting) return { faults: 'no new version came' };
    const during = await within('the answer of the waiting worker', tell(waiting));
    const text = await within('the end of the stream', response.text());
    // The page asks for the status now. A request that comes as the old version stops starts it again, for 5 minutes.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    let after = await within('the answer after the stream', tell(waiting));
    // The lock of the request is let go a moment after its last byte.
    for (let i = 0; i < 100 && after === 'requests_running'; i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      after = await tell(waiting);
    }
    for (let i = 0; i < 100 && registration.active === before; i++)
      await new Promise((resolve) => setTimeout(resolve, 50));
    return {
      during,
      whole: text.endsWith('data: [DONE]\n\n'),
      after,
      tookOver: registration.active === waiting,
    };
  }, authorization);
  expect(result).toEqual({ during: 'requests_running', whole: true, after: 'ok', tookOver: true });
  await page.reload();
  expect(await ask(page)).toMatch(/\w{3}/);
  expect(faults).toEqual([]);
  await page.close();
});

test('Workbox routes: registerRoute(matchV1, handleV1)', async () => {
  const { url } = await workboxVariant(
    'own-worker-routes',
    `import { handleMessage, handleV1, matchV1 } from 'localtext/sw';
     import { precacheAndRoute } from 'workbox-precaching';
     import { registerRoute, setDefaultHandler } from 'workbox-routing';
     import { NetworkFirst } from 'workbox-strategies';
     precacheAndRoute(self.__WB_MANIFEST);
     for (const method of ['GET', 'POST']) registerRoute(matchV1, handleV1, method);
     setDefaultHandler(new NetworkFirst());
     addEventListener('message', handleMessage);`,
  );
  const { page, faults } = await openExample(browser.context, url);
  const authorization = await askAndReadKey(page);
  const statuses = await page.evaluate(async (key) => {
    const headers = { authorization: key };
    const models = await fetch('/v1/models', { headers });
    const nothing = await fetch('/v1/models');
    return [models.status, nothing.status];
  }, authorization);
  expect(statuses).toEqual([200, 401]);
  expect(faults.filter((fault) => !fault.includes('401'))).toEqual([]);
  await page.close();
});
