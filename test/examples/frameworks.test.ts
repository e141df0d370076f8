import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, inject, onTestFinished, test } from 'vitest';

import { browserOfFile } from '../support/browser-of-file.ts';
import { freePort } from '../support/static-site.ts';
import { ask, openExample } from './support/drive.ts';
import { linkModels } from './support/models.ts';
import { startNginx } from './support/nginx.ts';
import { startVite } from './support/vite-server.ts';
import { run } from './support/workspace.ts';

/** Other bundlers and frameworks, with no setting for the engines, behind nginx and its own table of MIME types. */

const examples = inject('examples');
const browser = browserOfFile();

async function wasmFiles(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true });
  return files.map((path) => path.replaceAll('\\', '/')).filter((path) => path.endsWith('.wasm'));
}

/** Chats, and embeds by the page's own key, so that both WASM engines have run. */
async function chatAndEmbed(url: string): Promise<void> {
  const { page, faults } = await openExample(browser.context, url);
  const request = page.waitForRequest(/\/v1\/chat\/completions$/);
  expect(await ask(page)).toMatch(/Paris/);
  const authorization = (await request).headers()['authorization'] ?? '';
  const dimensions = await page.evaluate(async (key) => {
    const headers = { authorization: key };
    const body = JSON.stringify({ model: 'jade-mole-4', input: 'owl' });
    const response = await fetch('/v1/embeddings', { method: 'POST', headers, body });
    const { data } = (await response.json()) as { data: [{ embedding: number[] }] };
    return data[0].embedding.length;
  }, authorization);
  expect(dimensions).toBe(384);
  expect(faults).toEqual([]);
  await page.close();
}

test.each([
  ['webpack', 'public'],
  ['next', 'out'],
  ['astro', 'dist'],
])('%s, below a path of nginx', { timeout: 480_000 }, async (name, output) => {
  const folder = join(examples, name);
  await run(folder, 'npm', 'run', 'build');
  const site = join(folder, output);
  // Each once: bundlers find no separate one.
  expect((await wasmFiles(site)).filter((path) => !path.startsWith('localtext/wasm/'))).toEqual([]);
  if (name === 'next') expect(await readFile(join(site, 'index.html'), 'utf8')).toContain('starting');
  // For use without a network, where `init` comes after the build.
  const worker = await readFile(join(site, 'localtext-sw.js'), 'utf8');
  expect(worker.includes('"url":"index.html"')).toBe(name !== 'webpack');
  await linkModels(site);
  const server = await startNginx({ [`/${name}/`]: site });
  onTestFinished(() => server.stop());
  await chatAndEmbed(`${server.url}/${name}/`);
});

test('sveltekit, on its own preview server', async () => {
  const folder = join(examples, 'sveltekit');
  await run(folder, 'npm', 'run', 'build');
  await linkModels(join(folder, 'static'));
  const server = await startVite(folder, 'preview', await freePort());
  onTestFinished(() => server.stop());
  await chatAndEmbed(server.url);
});
