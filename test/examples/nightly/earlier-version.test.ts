import { execFile } from 'node:child_process';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import type { Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import type { Localtext } from '../../../src/page/localtext.ts';
import type { start } from '../../../src/page/start.ts';
import { browserOfFile } from '../../support/browser-of-file.ts';
import { smallChatFile } from '../../support/small-chat.ts';
import { removeFolder, tempFolder } from '../../support/temp-folder.ts';
import { serveFolder } from '../support/plain-server.ts';
import type { RunningServer } from '../support/vite-server.ts';
import { run } from '../support/workspace.ts';

/** The version before this one: its database has another layout, and its protocol another number. */
const EARLIER = '174585c50794609d5968cdae4cb705b6f8078219';
const MODEL = 'amber-phoenix-4';
const PAGE = `<!doctype html><title>app</title><script type="module">
  import { start } from './localtext/localtext.js';
  window.app = { start };
</script>`;

declare global {
  interface Window {
    app: { start: typeof start; localtext: Localtext; key: string };
  }
}

let folder: string;
let source: string;
let site: string;
let server: RunningServer;
const browser = browserOfFile();

/** Puts a version's files in place of those of the version before, and leaves the weights. */
async function deploy(cli: string): Promise<void> {
  await rm(join(site, 'localtext'), { recursive: true, force: true });
  await run(folder, process.execPath, cli, 'init', site);
  await writeFile(join(site, 'index.html'), PAGE);
}

beforeAll(async () => {
  folder = await tempFolder('earlier');
  site = join(folder, 'site');
  source = join(folder, 'source');
  for (const path of [site, source]) await mkdir(path);
  const archive = join(folder, 'source.tar');
  await promisify(execFile)('git', ['archive', '--output', archive, EARLIER]);
  await run(source, 'tar', '-xf', archive);
  await run(source, 'npm', 'ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund');
  await run(source, process.execPath, 'scripts/build-lib.mjs');
  await cp('public/models', join(site, 'models'), { recursive: true });
  await writeFile(join(site, 'own.gguf'), await smallChatFile());
  await deploy(join(source, 'dist/node/cli.js'));
  server = await serveFolder(site);
}, 600_000);
afterAll(async () => {
  await server.stop();
  await removeFolder(folder);
});

/** Starts the page's version of the library. @returns the app's key */
const begin = (page: Page): Promise<string> =>
  page.evaluate(async () => {
    window.app.localtext = await window.app.start();
    const { key } = await window.app.localtext.keys.ensure({ label: 'app' });
    return (window.app.key = key);
  });

/** @returns status and body of an answer of `/v1` */
const ask = (page: Page, path: string, body?: object): Promise<{ status: number; body: { id: string } }> =>
  page.evaluate(
    async ([to, json]) => {
      const headers = { authorization: `Bearer ${window.app.key}`, 'content-type': 'application/json' };
      const answer = await fetch(`/v1/${to}`, json ? { method: 'POST', headers, body: json } : { headers });
      return { status: answer.status, body: (await answer.json()) as { id: string } };
    },
    [path, body && JSON.stringify(body)] as const,
  );

const open = async (): Promise<Page> => {
  const page = await browser.context.newPage();
  await page.goto(server.url);
  await page.waitForFunction(() => 'app' in window);
  return page;
};

const chat = (model: string): object => ({
  model,
  messages: [{ role: 'user', content: 'Say hello.' }],
  max_tokens: 2,
});

test('an app’s keys, stored responses, weights and added models of the version before serve this one', async () => {
  const page = await open();
  const key = await begin(page);
  const stored = await ask(page, 'responses', {
    model: MODEL,
    input: 'Name the capital of France.',
    temperature: 0,
    max_output_tokens: 16,
  });
  expect(stored.status).toBe(200);
  const { body: before } = await ask(page, `responses/${stored.body.id}`);
  const added = await page.evaluate(async () => {
    const file = await (await fetch('own.gguf')).blob();
    return (await window.app.localtext.models.add(new File([file], 'own.gguf'), { id: 'own' })).id;
  });
  expect((await ask(page, 'chat/completions', chat(added))).status).toBe(200);

  const installed = join(inject('examples'), 'node_modules/localtext/dist/node/cli.js');
  await deploy(resolve(installed));
  const weights: string[] = [];
  browser.context.on('request', (request) => {
    if (request.url().includes('/models/')) weights.push(request.url());
  });
  // The page of the earlier version is open still.
  const next = await open();
  expect(await begin(next)).toBe(key);
  expect(await ask(next, `responses/${stored.body.id}`)).toEqual({ status: 200, body: before });
  const answer = await ask(next, 'responses', {
    model: MODEL,
    previous_response_id: stored.body.id,
    input: 'And of Italy?',
    max_output_tokens: 16,
  });
  expect(answer).toMatchObject({ status: 200, body: { previous_response_id: stored.body.id } });
  expect((await ask(next, 'chat/completions', chat(added))).status).toBe(200);
  expect(weights.filter((url) => url.endsWith('.gguf'))).toEqual([]);
  // The first page still has the earlier library.
  expect((await ask(page, 'chat/completions', chat(MODEL))).status).toBe(200);

  await page.reload();
  await page.waitForFunction(() => 'app' in window);
  expect(await begin(page)).toBe(key);
  expect((await ask(page, `responses/${stored.body.id}`)).status).toBe(200);
});

/** Builds a version's playground. @returns its folder */
async function buildPlayground(root: string): Promise<string> {
  // The test runner sets NODE_ENV, and with it a build for development.
  const env = { ...process.env, NODE_ENV: 'production' };
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  await promisify(execFile)(process.execPath, [vite, 'build'], { cwd: root, env });
  return join(root, 'dist/site');
}

test('conversations of the playground of the version before are in this one, and go on', async () => {
  const playground = join(folder, 'playground');
  await cp('public/models', join(source, 'public/models'), { recursive: true });
  await cp(await buildPlayground(source), playground, { recursive: true });
  const host = await serveFolder(playground);
  const page = await browser.context.newPage();
  const send = async (text: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  };
  try {
    await page.goto(host.url);
    await send('Name a lighthouse.');
    await cp(await buildPlayground(process.cwd()), playground, { recursive: true });
    await page.reload();
    await page.getByLabel('Conversation', { exact: true }).getByText('Name a lighthouse.').first().waitFor();
    await send('Name a harbour.');
    await page.reload();
    await page.getByLabel('Conversation', { exact: true }).getByText('Name a harbour.').first().waitFor();
    await page.getByLabel('Conversation', { exact: true }).getByText('Name a lighthouse.').first().waitFor();
  } finally {
    await host.stop();
  }
});
