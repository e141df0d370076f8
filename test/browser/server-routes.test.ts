import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { small } from '../support/small-variant.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { PacedServer } from '../support/paced-server.ts';
import { stopServiceWorker } from '../support/service-worker-control.ts';
import { serverVariant, catalogOf, modelOf } from '../support/catalogs.ts';

/** Requests go to a server from the service worker itself. */

const SECRET = 'sk-of-the-site-77ab';
const SOON = { timeout: 20_000, interval: 50 };
/** A document of the site without the library. */
const PLAIN = '/counting-worker.js';

let context: BrowserContext;
let server: PacedServer;
let path: (options?: object) => string;

beforeAll(async () => {
  server = new PacedServer({ firstMs: 0, tokenMs: 30, tokens: 10 });
  await server.start();
  const variant = serverVariant('paced', server.url);
  const catalog = catalogOf({ ...modelOf('first', [small, variant]), route: 'server-first' });
  path = (options = {}) => {
    const given = { catalog, upstreamKeys: { paced: SECRET }, ...options };
    return `/test-page.html?options=${encodeURIComponent(JSON.stringify(given))}`;
  };
  context = await launch();
});

const wholeText = (tokens: number) => Array.from({ length: tokens }, (_, index) => `${index} `).join('');

interface Answered {
  text: string;
  by: string | null;
  finish: string | null | undefined;
}

/** Starts a stream in the page, by plain `fetch`; `read` gives what has come. */
async function stream(page: Page, key: string, body: object = {}) {
  const reading = page.evaluateHandle(
    async ({ apiKey, more }) => {
      const response = await fetch('/v1/chat/completions', {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'first',
          messages: [{ role: 'user', content: 'Count.' }],
          stream: true,
          ...more,
        }),
      });
      const answered: Answered = {
        text: '',
        by: response.headers.get('localtext-served-by'),
        finish: undefined,
      };
      const read = async () => {
        for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
          for (const line of text.split('\n')) {
            if (!line.startsWith('data: {')) continue;
            const { choices } = JSON.parse(line.slice(6)) as {
              choices: { delta: { content?: string }; finish_reason: string | null }[];
            };
            answered.text += choices[0]?.delta.content ?? '';
            answered.finish = choices[0]?.finish_reason ?? answered.finish;
          }
      };
      return { answered, end: read() };
    },
    { apiKey: key, more: body },
  );
  const handle = await reading;
  return {
    read: () => handle.evaluate(({ answered }) => answered),
    end: () => handle.evaluate(async ({ answered, end }) => (await end, answered)),
  };
}

const heldLocks = (page: Page) =>
  page.evaluate(async () => (await navigator.locks.query()).held?.map(({ name = '' }) => name) ?? []);

test('a server answers without an engine, and continues when the leading tab closes', async () => {
  // Its engine's worker is never there.
  const { page: a, key } = await openPage(context, inject('siteUrl'), path({ workerUrl: '/no-worker.js' }));
  const plain = await context.newPage();
  await plain.goto(inject('siteUrl') + PLAIN);
  const before = Date.now();
  expect(await (await stream(plain, key)).end()).toEqual({
    text: wholeText(10),
    by: 'paced-upstream',
    finish: 'stop',
  });
  expect(server.authorization).toBe(`Bearer ${SECRET}`);
  expect((await heldLocks(plain)).filter((name) => name.includes(':engine:'))).toEqual([]);
  const status = await a.evaluate(async () => (await window.localtext).status());
  expect(status.models[0]).toMatchObject({ state: 'ready', fingerprint: 'paced-upstream' });
  await a.evaluate(async () => (await window.localtext).ready('first'));
  console.log(`without an engine: ${Date.now() - before} ms`);

  await a.goto(inject('siteUrl') + path());
  await expect.poll(async () => (await heldLocks(plain)).join(), SOON).toContain(':engine:');
  server.pace = { firstMs: 0, tokenMs: 30, tokens: 120 };
  const going = await stream(plain, key);
  await expect.poll(async () => (await going.read()).text.length, SOON).toBeGreaterThan(20);
  const asker = await stream(a, key);
  await a.close();
  expect(await going.end()).toEqual({ text: wholeText(120), by: 'paced-upstream', finish: 'stop' });
  expect(asker).toBeDefined();
  // The request of the tab that closed has ended, too.
  await expect.poll(() => server.open, SOON).toBe(0);
  expect(server.left).toBe(1);

  // No tab has the library now, and the service worker starts again.
  expect((await heldLocks(plain)).filter((name) => name.includes(':leader'))).toEqual([]);
  await stopServiceWorker(plain);
  server.pace = { firstMs: 0, tokenMs: 5, tokens: 10 };
  expect(await (await stream(plain, key)).end()).toMatchObject({ text: wholeText(10) });
  await plain.close();
});
