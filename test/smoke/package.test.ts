import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { BrowserContext } from 'playwright';
import { beforeAll, expect, test } from 'vitest';

import { ask, openExample } from '../examples/support/drive.ts';
import { linkModels } from '../examples/support/models.ts';
import { startVite } from '../examples/support/vite-server.ts';
import { packTarball, run, SMOKE_FOLDER, unpackExample } from '../examples/support/workspace.ts';
import { launch } from '../support/launch.ts';
import { freePort } from '../support/static-site.ts';

const NAME = 'vite-openai';
const folder = join(SMOKE_FOLDER, NAME);
let context: BrowserContext;

beforeAll(async () => {
  await packTarball(SMOKE_FOLDER);
  await unpackExample(NAME, SMOKE_FOLDER);
  context = await launch();
});

test('a new Vite app with the packed package chats below its own base, isolated, and asks no other origin', async () => {
  await rm(join(folder, 'dist'), { recursive: true, force: true });
  await run(folder, 'npm', 'run', 'build');
  await linkModels(join(folder, 'public'));
  const { url } = await startVite(folder, 'preview', await freePort(), '/app/');
  const foreign: string[] = [];
  context.on('request', (request) => {
    if (!/^(http:\/\/localhost:|blob:|data:)/.test(request.url())) foreign.push(request.url());
  });
  const { page, faults } = await openExample(context, url);
  expect(await ask(page)).toMatch(/Paris/);
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  const scopes = await page.evaluate(async () =>
    (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => scope),
  );
  expect(scopes).toEqual([url]);
  expect([faults, foreign]).toEqual([[], []]);
});
