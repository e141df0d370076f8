import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { BrowserContext } from 'playwright';
import { expect, inject } from 'vitest';

import { ask as askModel, embed } from '../../support/ask-page.ts';
import { ask, openExample } from './drive.ts';
import { linkModels } from './models.ts';
import { startNginx } from './nginx.ts';
import { run } from './workspace.ts';

async function wasmFiles(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true });
  return files.map((path) => path.replaceAll('\\', '/')).filter((path) => path.endsWith('.wasm'));
}

/** Chats, and embeds by the page's own key, so that both WASM engines have run. */
export async function chatAndEmbed(context: BrowserContext, url: string): Promise<void> {
  const { page, faults } = await openExample(context, url);
  const request = page.waitForRequest(/\/v1\/chat\/completions$/, { timeout: 120_000 });
  expect(await ask(page)).toMatch(/\w{3}/);
  const authorization = (await request).headers()['authorization'] ?? '';
  const key = authorization.replace('Bearer ', '');
  expect((await embed(page, key, 'jade-mole-4', 'owl'))[0]).toHaveLength(384);
  // A whole answer, where the example streams.
  const { choices } = await askModel(page, key, 'amber-phoenix-4', 'Say one.', { max_tokens: 4 });
  expect(choices[0]?.message.content).toMatch(/./);
  expect(faults).toEqual([]);
  await page.close();
}

/** Builds an example with no setting for the engines, and asks it behind nginx, below a path. */
export async function askBehindNginx(
  context: BrowserContext,
  name: string,
  output: string,
  port: number,
): Promise<void> {
  const folder = join(inject('examples'), name);
  await run(folder, 'npm', 'run', 'build');
  const site = join(folder, output);
  // Each once: bundlers find no separate one.
  expect((await wasmFiles(site)).filter((path) => !path.startsWith('localtext/wasm/'))).toEqual([]);
  // What the server rendered: nothing has started there.
  if (name === 'next')
    expect(await readFile(join(site, 'index.html'), 'utf8')).toContain('<div class="model"></div>');
  // For use without a network, where `init` comes after the build.
  const worker = await readFile(join(site, 'localtext-sw.js'), 'utf8');
  expect(worker).toContain('"url":"index.html"');
  await linkModels(site);
  const server = await startNginx({ [`/${name}/`]: site }, port);
  await chatAndEmbed(context, `${server.url}/${name}/`);
}
