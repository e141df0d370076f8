import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { BrowserContext, Page } from 'playwright';
import sirv from 'sirv';
import { build } from 'vite';
import { beforeAll, expect, test } from 'vitest';

import type { Catalog, Variant } from '../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { launch } from '../support/launch.ts';
import { openPage, type StartedPage } from '../support/open-page.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { listen } from '../support/listen.ts';
import { send } from '../support/send.ts';
import { ggufVariant, modelOf } from '../support/catalogs.ts';
import { embed } from '../support/ask-page.ts';

/** Two apps on one origin: the same build below `/a/` and `/b/`, each with its own catalog. */
type App = 'a' | 'b';
const APPS: readonly App[] = ['a', 'b'];
const SHARED = 'all-minilm-l6-v2-int8';
const WEIGHTS = 'models/all-minilm-l6-v2-int8/onnx/model.onnx';

const shared = defaultCatalog.models.flatMap(({ variants }) => variants).find(({ name }) => name === SHARED);
if (!shared) throw new Error(`the default catalog has no ${SHARED}`);

const ownBytes = (app: App): string => `The file of app ${app}.`;
/** Variant at the same path in both apps, with other bytes. */
const own = (app: App): Variant => {
  const bytes = ownBytes(app);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return ggufVariant('own', { files: [{ path: 'own/model.gguf', bytes: bytes.length, sha256 }] });
};
const catalogOf = (app: App): Catalog => ({
  ownedBy: app,
  models: [modelOf(`${app}-embed`, [shared], 'embedding'), modelOf(`${app}-chat`, [own(app)])],
});

let folder: string;
let origin: string;
let context: BrowserContext;
const requested: string[] = [];

beforeAll(async () => {
  folder = await tempFolder('apps');
  await build({ mode: 'browser-tests', logLevel: 'warn', base: './', build: { outDir: folder } });
  const files = sirv(folder);
  const models = sirv('public/models');
  const server = createServer((request, response) => {
    const [, app = '', rest = ''] = /^\/([ab])\/(.*)$/.exec(request.url ?? '') ?? [];
    requested.push(request.url ?? '');
    const missing = (): void => void response.writeHead(404).end();
    request.url = `/${rest.replace(/^models\//, '')}`;
    if (app === '') missing();
    else if (rest.startsWith('models/')) models(request, response, missing);
    else files(request, response, missing);
  });
  origin = await listen(server, 'localhost');
  context = await launch();
});

const open = (app: App): Promise<StartedPage> => {
  const options = JSON.stringify({ catalog: catalogOf(app), isolation: [] });
  return openPage(context, origin, `/${app}/test-page.html?options=${encodeURIComponent(options)}`);
};

async function listed(page: Page, key: string) {
  const { status, body } = await send<{ data?: { id: string }[] }>(page, key, '/v1/models');
  return { status, ids: (body.data ?? []).map(({ id }) => id) };
}

const dimensionsOf = async ({ page, key }: StartedPage, app: App): Promise<number | undefined> =>
  (await embed(page, key, `${app}-embed`, 'hello'))[0]?.length;

const status = (page: Page) =>
  page.evaluate(async () => {
    const { epoch, leader, models } = await (await window.localtext).status();
    return { epoch, leader, ids: models.map(({ id }) => id) };
  });

const pathOf = (page: Page, path: string) =>
  page.evaluate(async (relative) => (await fetch(relative)).text(), path);

test('two apps of one origin share weights by their hash, and nothing else', async () => {
  const pages = { a: await open('a'), b: await open('b') };
  const { a, b } = pages;

  for (const app of APPS) {
    const { page, key } = pages[app];
    const ids = [`${app}-embed`, `${app}-chat`];
    expect(await listed(page, key)).toEqual({ status: 200, ids });
    // Each has an engine, and leads.
    expect(await status(page)).toMatchObject({ leader: true, ids });
  }
  expect((await status(a.page)).epoch).not.toBe((await status(b.page)).epoch);
  expect((await listed(b.page, a.key)).status).toBe(401);
  expect((await listed(a.page, b.key)).status).toBe(401);
  expect(await a.page.evaluate(async () => (await (await window.localtext).keys.list()).length)).toBe(1);

  expect(await Promise.all([dimensionsOf(a, 'a'), dimensionsOf(b, 'b')])).toEqual([384, 384]);
  // One has downloaded for both.
  const downloads = (): string[] => requested.filter((url) => url.endsWith(WEIGHTS));
  expect(new Set(downloads()).size).toBe(1);
  const chunks = downloads().length;

  // The same path in both, with other bytes.
  for (const app of APPS) {
    const { page } = pages[app];
    await page.evaluate(async (text) => {
      await (await window.localtext).weights.import([new File([text], 'model.gguf')]);
    }, ownBytes(app));
  }
  for (const app of APPS) {
    const { page } = pages[app];
    expect(await pathOf(page, 'models/own/model.gguf')).toBe(ownBytes(app));
    // Stored by one of them, and known by its path in both.
    expect(await page.evaluate(async (path) => (await fetch(path)).headers.get('etag'), WEIGHTS)).not.toBe(
      null,
    );
  }

  // What one deletes, the other goes on with; at its next load it is fetched again.
  const before = await status(b.page);
  const asked = Promise.all(Array.from({ length: 20 }, () => dimensionsOf(b, 'b')));
  await a.page.evaluate(async (name) => (await window.localtext).weights.delete(name), SHARED);
  expect(new Set(await asked)).toEqual(new Set([384]));
  await b.page.reload();
  expect(await dimensionsOf(b, 'b')).toBe(384);
  expect(downloads()).toHaveLength(2 * chunks);

  // Nor does it notice when the other's leader goes.
  const { epoch } = await status(b.page);
  expect(epoch).not.toBe(before.epoch);
  const running = Promise.all(Array.from({ length: 20 }, () => dimensionsOf(b, 'b')));
  await a.page.close();
  expect(new Set(await running)).toEqual(new Set([384]));
  expect((await status(b.page)).epoch).toBe(epoch);

  // An app that asks for the whole origin's service worker shares on purpose; names alone show whose is what.
  const names = await b.page.evaluate(async () => ({
    locks: ((await navigator.locks.query()).held ?? []).map(({ name }) => name ?? ''),
    databases: (await indexedDB.databases()).map(({ name }) => name ?? ''),
  }));
  expect(names.locks).toContain('localtext/b/:leader');
  expect(names.databases.filter((name) => name.startsWith('localtext')).toSorted()).toEqual([
    'localtext/a/',
    'localtext/b/',
  ]);
});
