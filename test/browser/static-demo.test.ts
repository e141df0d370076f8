import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';

import sirv from 'sirv';
import { expect, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { listen } from '../support/listen.ts';

/** The published demo: static files below a path, on a host that sends no headers. */

const BASE = '/demo/';

async function serve(): Promise<string> {
  const site = sirv('dist/demo', { dev: true });
  const models = sirv('public/models', { dev: true });
  const server = createServer((request, response) => {
    const notFound = (): void => void response.writeHead(404).end();
    const path = request.url ?? '/';
    if (!path.startsWith(BASE)) return notFound();
    const isModel = path.startsWith(`${BASE}models/`);
    request.url = path.slice((isModel ? `${BASE}models` : BASE.slice(0, -1)).length);
    (isModel ? models : site)(request, response, notFound);
  });
  return `${await listen(server, 'localhost')}${BASE}`;
}

test('the demo below a path: isolated on the first visit, and it answers', async () => {
  // The test runner sets NODE_ENV, and with it a build for development.
  const env = { ...process.env, NODE_ENV: 'production' };
  await promisify(execFile)(process.execPath, ['scripts/demo.mjs', '--base', BASE, '--no-weights'], { env });
  const url = await serve();
  const context = await launch();
  const page = await context.newPage();
  await page.goto(url);
  // The page reloads itself once.
  await expect
    .poll(() => page.evaluate(() => crossOriginIsolated).catch(() => false), { timeout: 30_000 })
    .toBe(true);
  const scope = await page.evaluate(async () => (await navigator.serviceWorker.ready).scope);
  expect(scope).toBe(url);
  const composer = page.getByRole('textbox', { name: 'Message' });
  await composer.fill('What is the capital of France?');
  await composer.press('Enter');
  // Its first words are enough: the reply has no limit.
  const reply = page.locator('.turn-assistant .markdown').first();
  await expect.poll(() => reply.textContent(), { timeout: 150_000 }).toMatch(/\w{3}/);
});
