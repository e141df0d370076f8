import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { rolldown } from 'rolldown';
import { expect, inject, onTestFinished, test } from 'vitest';

import { browserOfFile } from '../support/browser-of-file.ts';
import { ask, openExample } from './support/drive.ts';
import { serveFolder } from './support/plain-server.ts';
import { linkModels } from './support/models.ts';
import { run } from './support/workspace.ts';

/** The packed package, built other ways than the examples are, on a host that sends no headers. */

const examples = inject('examples');
const browser = browserOfFile();

/** Makes a folder beside the examples, so that their packages are found. */
async function workFolder(): Promise<string> {
  const folder = await mkdtemp(join(examples, 'built-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

async function serve(folder: string): Promise<string> {
  const server = await serveFolder(folder);
  return server.url;
}

test('Vite, with a base that is relative: the build runs in any folder, and with a file less than it lists', async () => {
  const folder = await workFolder();
  const site = join(folder, 'some', 'where');
  await run(
    join(examples, 'vite-openai'),
    'npx',
    'vite',
    'build',
    '--base',
    './',
    '--outDir',
    site,
    '--emptyOutDir',
    '--manifest',
  );
  // Hosts do not serve folders with a dot.
  expect(await readFile(join(site, 'localtext-sw.js'), 'utf8')).not.toContain('.vite/');
  const lazy = (await readdir(join(site, 'assets'))).find((name) => name.startsWith('model-files-'));
  await rm(join(site, 'assets', lazy ?? ''));
  await linkModels(site);
  const url = `${await serve(folder)}/some/where/`;
  const { page, faults } = await openExample(browser.context, url);
  expect(await ask(page)).toMatch(/\w{3}/);
  const scopes = await page.evaluate(async () =>
    (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => scope),
  );
  expect(scopes).toEqual([url]);
  expect(faults).toEqual([]);
  await page.close();
});

const page = `
import { start } from 'localtext';
import OpenAI from 'openai';
const [button, output] = [document.querySelector('button'), document.querySelector('output')];
const localtext = await start({ workerUrl: 'localtext/worker.js' });
const { key } = await localtext.keys.issue({ label: 'bundled' });
const client = new OpenAI({ baseURL: localtext.baseURL, apiKey: key, dangerouslyAllowBrowser: true });
button.disabled = false;
document.querySelector('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  const messages = [
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content: 'Name the capital of France.' },
  ];
  const options = { model: 'amber-phoenix-4', max_tokens: 24, temperature: 0 };
  const { choices } = await client.chat.completions.create({ ...options, messages });
  const { data } = await client.embeddings.create({ model: 'jade-mole-4', input: 'owl' });
  output.textContent = choices[0].message.content + data[0].embedding.length;
  button.disabled = false;
});`;

const html = `<!doctype html><title>bundled</title><link rel="icon" href="data:,">
<form><button disabled>Ask</button></form><output></output>
<script type="module" src="built/page.js"></script>`;

test('a bundler that makes no workers: the worker of `init`, by workerUrl', async () => {
  const folder = await workFolder();
  const site = join(folder, 'public');
  await mkdir(site);
  await cp(join(examples, 'plain-html/package.json'), join(folder, 'package.json'));
  await run(folder, 'npx', 'localtext', 'init', 'public');
  await writeFile(join(site, 'index.html'), html);
  await writeFile(join(folder, 'page.js'), page);
  const bundle = await rolldown({ input: join(folder, 'page.js'), cwd: folder, platform: 'browser' });
  await bundle.write({ dir: join(site, 'built'), format: 'esm', entryFileNames: '[name].js' });
  await bundle.close();
  await linkModels(site);
  const { page: opened, faults } = await openExample(browser.context, `${await serve(site)}/`);
  expect(await ask(opened)).toMatch(/Paris.*384$/s);
  expect(faults).toEqual([]);
  await opened.close();
});
