import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { BrowserContext } from 'playwright';
import { expect, inject } from 'vitest';

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
  // Whole answers, where the example streams.
  const { dimensions, whole } = await page.evaluate(async (key) => {
    const post = (path: string, body: object) =>
      fetch(`/v1/${path}`, { method: 'POST', headers: { authorization: key }, body: JSON.stringify(body) });
    const { data } = (await (await post('embeddings', { model: 'jade-mole-4', input: 'owl' })).json()) as {
      data: [{ embedding: number[] }];
    };
    const messages = [{ role: 'user', content: 'Say one.' }];
    const chat = await post('chat/completions', { model: 'amber-phoenix-4', messages, max_tokens: 4 });
    const { choices } = (await chat.json()) as { choices: [{ message: { content: string } }] };
    return { dimensions: data[0].embedding.length, whole: choices[0].message.content };
  }, authorization);
  expect(dimensions).toBe(384);
  expect(whole).not.toBe('');
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
  expect(worker.includes('"url":"index.html"')).toBe(name !== 'webpack');
  await linkModels(site);
  const server = await startNginx({ [`/${name}/`]: site }, port);
  await chatAndEmbed(context, `${server.url}/${name}/`);
}
