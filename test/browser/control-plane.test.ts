import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { Catalog, CatalogModel, Variant } from '../../src/catalog/catalog.ts';
import { LOAD_PATH, PROTOCOL_HEADER, STATUS_PATH, WEIGHTS_PATH } from '../../src/protocol/local-paths.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { StaticSite } from '../support/static-site.ts';

const BYTES = 'The weights of a very small model.';
const PLANTED = 'What an attacker would like the model to be.';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const base = { engine: 'wllama', license: 'MIT', contextLength: 9 } as const;
const pinned: Variant = {
  ...base,
  name: 'pinned',
  files: [{ path: 'pinned/model.gguf', bytes: BYTES.length, sha256: sha256(BYTES) }],
};
const hub: Variant = {
  ...base,
  name: 'from-hub',
  files: [],
  hub: { repository: 'o/h', revision: 'main', folder: 'h', approximateBytes: 40 },
};
const model = (id: string, variant: Variant): CatalogModel => ({
  id,
  kind: 'chat',
  created: 1,
  variants: [variant],
});
const catalog: Catalog = { ownedBy: 'test', models: [model('pinned-1', pinned), model('hub-1', hub)] };

/** A page of another site, with a form that posts to the victim. */
const attackPage = (action: string, target: string, body: string): string => {
  const [field = '', value = ''] = body.split('=');
  const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll("'", '&#39;');
  return `<!doctype html><iframe name="frame" hidden></iframe>
<form method="post" enctype="text/plain" action='${escape(action)}' target="${target}">
<input name='${escape(field)}' value='${escape(value)}'><button>Win a prize</button></form>`;
};

const DELETE = '{"type":"delete","target":"pinned","x":"="}';
const DESCRIPTION = JSON.stringify({
  version: 1,
  variant: 'from-hub',
  files: [{ path: 'h/model.gguf', bytes: PLANTED.length, sha256: sha256(PLANTED) }],
  x: '=',
});

let site: StaticSite;
let attacker: Server;
let context: BrowserContext;
let victim: Page;

beforeAll(async () => {
  site = await StaticSite.start();
  attacker = createServer(({ url }, answer) => {
    const { searchParams } = new URL(url ?? '/', 'http://localhost');
    const of = (name: string): string => searchParams.get(name) ?? '';
    answer.setHeader('content-type', 'text/html');
    answer.end(attackPage(of('action'), of('target'), of('body')));
  });
  await new Promise<void>((resolve) => {
    attacker.listen(0, resolve);
  });
  context = await launch();
  const path = `/test-page.html?options=${encodeURIComponent(JSON.stringify({ catalog }))}`;
  ({ page: victim } = await openPage(context, site.url, path));
  await victim.evaluate(async (text) => {
    await (await window.localtext).weights.import([new File([text], 'model.gguf')]);
  }, BYTES);
});

afterAll(async () => {
  await context.close();
  await site.stop();
  attacker.close();
});

const states = (): Promise<Record<string, string>> =>
  victim.evaluate(async () => {
    const { variants } = await (await window.localtext).weights.list();
    return Object.fromEntries(variants.map(({ variant, state }) => [variant, state]));
  });
const untouched = { pinned: 'whole', 'from-hub': 'absent' };

/** Statuses that the victim's service worker answers on these paths while `work` runs. */
async function answered(work: (page: Page) => Promise<unknown>): Promise<number[]> {
  const page = await context.newPage();
  const answer = context.waitForEvent('response', (response) => response.url().includes('/localtext/'));
  await work(page);
  const statuses = [(await answer).status()];
  for (const other of context.pages())
    if (other !== victim && other !== context.pages()[0]) await other.close();
  return statuses;
}

const attacks = [
  ['deletes', WEIGHTS_PATH, DELETE],
  ['plants a description', `${WEIGHTS_PATH}?import=localtext-model.json`, DESCRIPTION],
  ['plants a file', `${WEIGHTS_PATH}?import=model.gguf`, PLANTED],
  [
    'adds a model',
    WEIGHTS_PATH,
    '{"type":"add","id":"pinned-1","source":{"type":"files","names":[],"ticket":"t"}}',
  ],
  ['loads', `${LOAD_PATH}?model=pinned-1`, ''],
] as const;
const ways = [
  ['another site, in a popup', '127.0.0.1', '_blank'],
  ['another site, in its own tab', '127.0.0.1', '_self'],
  ['another origin of the same site, in a hidden frame', 'localhost', 'frame'],
] as const;

test.each(ways)('a form of %s reaches nothing', async (_, host, target) => {
  expect(await states()).toEqual(untouched);
  for (const [what, path, body] of attacks) {
    const { port } = attacker.address() as AddressInfo;
    const query = new URLSearchParams({ action: site.url + path, target, body });
    const statuses = await answered(async (page) => {
      await page.goto(`http://${host}:${port}/?${query}`);
      await page.click('button');
    });
    expect({ what, statuses }).toEqual({ what, statuses: [403] });
  }
  expect(await states()).toEqual(untouched);
});

test('a link or an image reaches nothing', async () => {
  const load = `${site.url}${LOAD_PATH}?model=pinned-1`;
  expect(await answered((page) => page.goto(load))).toEqual([403]);
  const status = `${site.url}${STATUS_PATH}`;
  expect(await answered((page) => page.goto(status))).toEqual([403]);
  const image = (url: string) => {
    document.body.append(Object.assign(new Image(), { src: url }));
  };
  expect(await answered(() => victim.evaluate(image, load))).toEqual([403]);
  expect(await states()).toEqual(untouched);
});

test('only what the page library sends is accepted, and each refusal has OpenAI’s error shape', async () => {
  const ask = (path: string, init: RequestInit) =>
    victim.evaluate(
      async ([url, options]) => {
        const response = await fetch(url, options);
        const { error } = (await response.json()) as { error: { code: string | null; message: string } };
        return { status: response.status, code: error.code };
      },
      [path, init] as const,
    );
  const header = { [PROTOCOL_HEADER]: String(PROTOCOL_VERSION) };
  const json = { ...header, 'content-type': 'application/json' };
  const body = JSON.stringify({ type: 'delete', target: 'pinned' });
  const cases: [string, RequestInit, number, (string | null)?][] = [
    [WEIGHTS_PATH, { method: 'POST', headers: { 'content-type': 'application/json' }, body }, 403],
    [STATUS_PATH, {}, 403],
    [WEIGHTS_PATH, { headers: header }, 405],
    [`${LOAD_PATH}?model=pinned-1`, { headers: header }, 405],
    [STATUS_PATH, { method: 'POST', headers: json, body }, 405],
    [WEIGHTS_PATH, { method: 'POST', headers: { ...header, 'content-type': 'text/plain' }, body }, 415],
    [`${WEIGHTS_PATH}?import=model.gguf`, { method: 'POST', headers: json, body: PLANTED }, 415],
    [WEIGHTS_PATH, { method: 'POST', headers: json, body: body + ' '.repeat(70_000) }, 413],
    [WEIGHTS_PATH, { method: 'POST', headers: json, body: '{"type":"delete","target":"pinned","x":1}' }, 400],
    [WEIGHTS_PATH, { method: 'POST', headers: json, body: '{"type":"delete","target":["pinned"]}' }, 400],
    [WEIGHTS_PATH, { method: 'POST', headers: json, body: '{"type":"import","name":"a"}' }, 400],
    [WEIGHTS_PATH, { method: 'POST', headers: json, body: '{' }, 400],
    [`${LOAD_PATH}?model=${'x'.repeat(2000)}`, { method: 'POST', headers: header }, 400, 'invalid_value'],
    [STATUS_PATH, { headers: { [PROTOCOL_HEADER]: '1' } }, 400, 'protocol_mismatch'],
  ];
  for (const [path, init, status, code = null] of cases) {
    expect({ path, init, ...(await ask(path, init)) }).toEqual({ path, init, status, code });
  }
  expect(await states()).toEqual(untouched);
  await victim.evaluate(async () => (await window.localtext).weights.delete('pinned'));
  expect(await states()).toEqual({ ...untouched, pinned: 'absent' });
});
