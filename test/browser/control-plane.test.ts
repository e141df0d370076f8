import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, test } from 'vitest';

import type { Variant } from '../../src/catalog/catalog.ts';
import { LOAD_PATH, PROTOCOL_HEADER, STATUS_PATH } from '../../src/protocol/local-paths.ts';
import { directChannel } from '../../src/protocol/discovery.ts';
import { requestLock } from '../../src/protocol/locks.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { launch } from '../support/launch.ts';
import { listen } from '../support/listen.ts';
import { openPage } from '../support/open-page.ts';
import { StaticSite } from '../support/static-site.ts';
import { catalogOf, modelOf } from '../support/catalogs.ts';

const BYTES = 'The weights of a very small model.';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const base = { engine: 'wllama', license: 'MIT', contextLength: 9 } as const;
const pinned: Variant = {
  ...base,
  name: 'pinned',
  files: [{ path: 'pinned/model.gguf', bytes: BYTES.length, sha256: sha256(BYTES) }],
};
const catalog = catalogOf(modelOf('pinned-1', [pinned]));

/** A page of another site, with a form that posts to the victim. */
const attackPage = (
  action: string,
  target: string,
): string => `<!doctype html><iframe name="frame" hidden></iframe>
<form method="post" enctype="text/plain" action='${action}' target="${target}"><button>Win a prize</button></form>`;

let site: StaticSite;
let attacker: string;
let context: BrowserContext;
let victim: Page;

beforeAll(async () => {
  site = await StaticSite.start();
  const server = createServer(({ url }, answer) => {
    const { searchParams } = new URL(url ?? '/', 'http://localhost');
    const of = (name: string): string => searchParams.get(name) ?? '';
    answer.setHeader('content-type', 'text/html');
    answer.end(attackPage(of('action'), of('target')));
  });
  attacker = await listen(server);
  context = await launch();
  ({ page: victim } = await openPage(context, site.url, { catalog }));
  await victim.evaluate(async (text) => {
    await (await window.localtext).weights.import([new File([text], 'model.gguf')]);
  }, BYTES);
});

const states = (): Promise<Record<string, string>> =>
  victim.evaluate(async () => {
    const { variants } = await (await window.localtext).weights.list();
    return Object.fromEntries(variants.map(({ variant, state }) => [variant, state]));
  });
const untouched = { pinned: 'whole' };

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

const ways = [
  ['another site, in a popup', '127.0.0.1', '_blank'],
  ['another site, in its own tab', '127.0.0.1', '_self'],
  ['another origin of the same site, in a hidden frame', 'localhost', 'frame'],
] as const;

test.each(ways)('a form of %s reaches nothing', async (_, host, target) => {
  const { port } = new URL(attacker);
  const query = new URLSearchParams({ action: `${site.url}${LOAD_PATH}?model=pinned-1`, target });
  const statuses = await answered(async (page) => {
    await page.goto(`http://${host}:${port}/?${query}`);
    await page.click('button');
  });
  expect(statuses).toEqual([403]);
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
  const cases: [string, RequestInit, number, (string | null)?][] = [
    [STATUS_PATH, {}, 403],
    [`${LOAD_PATH}?model=pinned-1`, { headers: header }, 405],
    [STATUS_PATH, { method: 'POST', headers: header }, 405],
    [`${LOAD_PATH}?model=${'x'.repeat(2000)}`, { method: 'POST', headers: header }, 400, 'invalid_value'],
    [STATUS_PATH, { headers: { [PROTOCOL_HEADER]: '1' } }, 400, 'protocol_mismatch'],
  ];
  for (const [path, init, status, code = null] of cases)
    expect({ path, init, ...(await ask(path, init)) }).toEqual({ path, init, status, code });
});

test('a command that a script of the origin makes up is refused', async () => {
  const commands = [
    { type: 'delete', target: 'pinned', x: 1 },
    { type: 'delete', target: ['pinned'] },
    { type: 'delete', target: 'p'.repeat(2000) },
    { type: 'import', name: 'a' },
    { type: 'add', id: 'pinned-1', source: { type: 'files', names: 'all', ticket: 't' } },
    { type: 'constructor' },
    null,
  ];
  for (const [index, command] of commands.entries()) {
    const id = `made-up-${index}`;
    const answer = await victim.evaluate(
      ([name, lock, question]) =>
        new Promise((resolve) => {
          // The worker takes an asker without its lock for gone.
          void navigator.locks.request(lock, () => new Promise(() => {}));
          const channel = `${name}:${crypto.randomUUID()}`;
          const port = new BroadcastChannel(channel);
          port.onmessage = ({ data }) => {
            if (data.type === 'connected') port.postMessage(question);
            else resolve(data);
          };
          new BroadcastChannel(name).postMessage({ channel });
        }),
      [
        directChannel('/'),
        requestLock('/', id),
        { type: 'weights', command, version: PROTOCOL_VERSION, id },
      ] as const,
    );
    expect({ command, answer }).toMatchObject({ command, answer: { type: 'error', error: { status: 400 } } });
  }
  expect(await states()).toEqual(untouched);
  await victim.evaluate(async () => (await window.localtext).weights.delete('pinned'));
  expect(await states()).toEqual({ pinned: 'absent' });
});
