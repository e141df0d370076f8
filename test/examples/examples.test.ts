import { join } from 'node:path';

import type { BrowserContext } from 'playwright';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { freePort } from '../support/static-site.ts';
import { ask, openExample } from './support/drive.ts';
import { startVite, type RunningServer } from './support/vite-server.ts';
import { linkModels, run } from './support/workspace.ts';

const examples = inject('examples');
let context: BrowserContext;

beforeAll(async () => {
  context = await launch();
});

afterAll(async () => {
  await context.close();
});

/** The example, built as its reader would, on its own preview server. */
async function preview(name: string, base = '/'): Promise<RunningServer> {
  const folder = join(examples, name);
  await run(folder, 'npm', 'run', 'build');
  await linkModels(folder);
  const server = await startVite(folder, 'preview', await freePort(), base);
  onTestFinished(() => server.stop());
  return server;
}

describe('vite-openai', () => {
  test('chats below a base of its own, isolated, and asks no other origin', async () => {
    const { url } = await preview('vite-openai', '/app/');
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
    await page.close();
  });

  test('chats on the dev server', async () => {
    const server = await startVite(join(examples, 'vite-openai'), 'dev', await freePort(), '/app/');
    onTestFinished(() => server.stop());
    const { page, faults } = await openExample(context, server.url);
    expect(await ask(page)).toMatch(/Paris/);
    expect(faults).toEqual([]);
    await page.close();
  });
});
