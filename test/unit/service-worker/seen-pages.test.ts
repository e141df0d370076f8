import { beforeEach, expect, test, vi } from 'vitest';

import type { BuildFiles } from '../../../src/service-worker/index.ts';
import { ServerPages } from '../../../src/service-worker/server-pages.ts';
import type { seenPages } from '../../../sw/seen-pages.ts';

const SITE = 'https://site.example';
const HTML = { 'content-type': 'text/html; charset=utf-8' };

/** A cache in memory, in the order in which entries were put. */
class FakeCache {
  readonly entries = new Map<string, { key: Request; response: Response }>();

  async put(key: Request, response: Response): Promise<void> {
    this.entries.delete(key.url);
    this.entries.set(key.url, { key, response });
  }

  async match(key: Request | string): Promise<Response | undefined> {
    return this.entries.get(typeof key === 'string' ? key : key.url)?.response.clone();
  }

  async delete(key: Request | string): Promise<boolean> {
    return this.entries.delete(typeof key === 'string' ? key : key.url);
  }

  async keys(): Promise<Request[]> {
    return [...this.entries.values()].map(({ key }) => key);
  }
}

let cache: FakeCache;
let server: (path: string, request: Request | undefined) => Response | Promise<Response>;
let seen: ReturnType<typeof seenPages>;
let pages: ServerPages;
let built: Map<string, string>;

const offline = (): never => {
  throw new TypeError('Failed to fetch');
};
/** A response of this origin, as a browser's `fetch` gives it. */
const answer = (body: string | ReadableStream<Uint8Array>, init: ResponseInit = {}): Response =>
  Object.defineProperty(new Response(body, { headers: HTML, ...init }), 'type', { value: 'basic' });

beforeEach(async () => {
  cache = new FakeCache();
  built = new Map();
  server = offline;
  vi.stubGlobal('location', new URL(`${SITE}/localtext-sw.js`));
  vi.stubGlobal('registration', { scope: `${SITE}/` });
  vi.stubGlobal('self', globalThis);
  vi.stubGlobal('caches', { open: async () => cache, delete: async () => cache.entries.clear() });
  vi.stubGlobal('fetch', async (asked: Request | string) => {
    const url = typeof asked === 'string' ? asked : asked.url;
    const response = await server(
      url.slice(SITE.length).replace(/#.*/, ''),
      typeof asked === 'string' ? undefined : asked,
    );
    // A clone loses what `answer` has set.
    const { clone } = response;
    response.clone = () => Object.defineProperty(clone.call(response), 'type', { value: response.type });
    return response;
  });
  const { seenPages: pagesOf } = await import('../../../sw/seen-pages.ts');
  const files: BuildFiles = (request, isOffline = false) => {
    const text = built.get(new URL(request.url).pathname);
    if (text === undefined) return undefined;
    return isOffline || request.mode !== 'navigate' ? Promise.resolve(answer(text)) : fetch(request);
  };
  pages = new ServerPages();
  seen = pagesOf({ offlinePage: 'offline.html' }, files, (...page) => pages.add(...page));
});

interface Asked {
  path: string;
  mode?: string;
  destination?: string;
  method?: string;
  headers?: Record<string, string>;
}

/** What the browser shows for a request, once everything is stored; null: it asks the network itself. */
async function ask({ path, mode = 'navigate', destination = '', ...init }: Asked): Promise<string | null> {
  const request = new Request(SITE + path, init);
  Object.defineProperty(request, 'mode', { value: mode });
  Object.defineProperty(request, 'destination', { value: destination });
  const work: Promise<unknown>[] = [];
  const event = {
    request,
    resultingClientId: path,
    waitUntil: (each: Promise<unknown>) => void work.push(each),
  };
  const response = await seen.respond(event as unknown as FetchEvent);
  await Promise.all(work);
  return response ? response.text() : null;
}

const visit = (path: string): Promise<string | null> => ask({ path });
const script = (path: string): Promise<string | null> =>
  ask({ path, mode: 'no-cors', destination: 'script' });

test('a page comes from the network, and without it as it was last seen', async () => {
  let version = 0;
  server = (path) => answer(`${path} ${++version}`);
  expect(await visit('/a?b#c')).toBe('/a?b 1');
  expect(await visit('/a?b')).toBe('/a?b 2');
  server = offline;
  expect(await visit('/a?b#d')).toBe('/a?b 2');
  await expect(visit('/a')).rejects.toThrow('Failed to fetch');
});

test.each([
  [0, true],
  // The browser's HTTP cache answers.
  [600_000, false],
])('a page that the server sent %i ms ago is just sent: %s', async (age, isNew) => {
  server = () => answer('', { headers: { ...HTML, date: new Date(Date.now() - age).toUTCString() } });
  await visit('/page');
  expect([pages.take('/page'), pages.take('/page')]).toEqual([isNew, false]);
});

test('a page that was not seen is the build’s, or else the offline page', async () => {
  built.set('/offline.html', 'offline').set('/about', 'of the build');
  expect(await visit('/about')).toBe('of the build');
  expect(await visit('/never')).toBe('offline');
  server = () => answer('of the server');
  expect(await visit('/about')).toBe('of the server');
});

test('the parts of a page are stored, and files of the build come from there', async () => {
  server = (path) => answer(path, { headers: { 'content-type': 'text/javascript' } });
  built.set('/built.js', 'built');
  for (const path of ['/a.js', '/built.js']) await script(path);
  server = offline;
  expect(await script('/a.js')).toBe('/a.js');
  expect(await script('/built.js')).toBe('built');
  expect(cache.entries.size).toBe(1);
});

test.each<[string, Asked]>([
  ['a request of a script', { path: '/data', mode: 'cors' }],
  ['sound', { path: '/a.mp3', mode: 'no-cors', destination: 'audio' }],
  ['a range', { path: '/a.png', mode: 'no-cors', destination: 'image', headers: { range: 'bytes=0-1' } }],
  ['a form', { path: '/send', method: 'POST' }],
])('%s is the browser’s matter', async (_, asked) => {
  expect(await ask(asked)).toBe(null);
});

test.each<[string, ResponseInit]>([
  ['no-store', { headers: { ...HTML, 'cache-control': 'No-Store' } }],
  ['private', { headers: { ...HTML, 'cache-control': 'private, max-age=0' } }],
  ['a page that depends on cookies', { headers: { ...HTML, vary: 'Accept-Encoding, Cookie' } }],
  ['a page that depends on everything', { headers: { ...HTML, vary: '*' } }],
  ['a page that depends on the account', { headers: { ...HTML, vary: 'authorization' } }],
  ['another type', { headers: { 'content-type': 'application/pdf' } }],
  ['refused', { status: 403 }],
  ['missing', { status: 404 }],
])('is not stored, and takes the place of what was: %s', async (_, init) => {
  server = () => answer('public');
  await visit('/account');
  server = () => answer('other', init);
  expect(await visit('/account')).toBe('other');
  server = offline;
  await expect(visit('/account')).rejects.toThrow();
});

test('two tabs that store different bodies of a page at once keep one of them', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const bodies = ['first', 'the second'];
  server = () => answer(bodies.shift() ?? '');
  await Promise.all([visit('/a'), visit('/a')]);
  expect(warn).not.toHaveBeenCalled();
  server = offline;
  expect(await visit('/a')).toBe('the second');
});

test('a redirect, as after signing out, takes the place of what was stored', async () => {
  server = () => answer('mine');
  await visit('/account');
  server = () => Object.defineProperty(Response.error(), 'type', { value: 'opaqueredirect' });
  await visit('/account');
  server = offline;
  await expect(visit('/account')).rejects.toThrow();
});

test('an error of the server leaves what was stored', async () => {
  server = () => answer('seen');
  await visit('/a');
  server = () => answer('broken', { status: 503 });
  expect(await visit('/a')).toBe('broken');
  server = offline;
  expect(await visit('/a')).toBe('seen');
});

test('a page in the place of a script is not stored', async () => {
  server = () => answer('<!doctype html>');
  await script('/old.js');
  expect(cache.entries.size).toBe(0);
});

test('what was stored first goes first: 500 entries, 50 MB in all, 5 MB each', async () => {
  vi.spyOn(console, 'warn').mockReturnValue();
  server = (path) => answer(path);
  for (let count = 0; count < 501; count++) await visit(`/${count}`);
  expect(cache.entries.size).toBe(500);
  expect(cache.entries.has(`${SITE}/0`)).toBe(false);
  server = () => answer('x'.repeat(4e6));
  for (let count = 0; count < 13; count++) await visit(`/large-${count}`);
  expect([...cache.entries.keys()]).toEqual(
    Array.from({ length: 12 }, (_, count) => `${SITE}/large-${count + 1}`),
  );
  server = () => answer('x'.repeat(5e6 + 1));
  await visit('/huge');
  expect(cache.entries.has(`${SITE}/huge`)).toBe(false);
});

test('parts that a page loads later are within the limits, too', async () => {
  server = (path) => answer(path, { headers: { 'content-type': 'text/css' } });
  await Promise.all(Array.from({ length: 510 }, (_, count) => script(`/${count}.css`)));
  expect(cache.entries.size).toBe(500);
  expect(cache.entries.has(`${SITE}/509.css`)).toBe(true);
});

test('a part that was deleted for space is stored again when it is used', async () => {
  server = (path) => answer(path, { headers: { 'content-type': 'text/css' } });
  await script('/a.css');
  server = (path) => answer(path);
  for (let count = 0; count < 500; count++) await visit(`/${count}`);
  expect(cache.entries.has(`${SITE}/a.css`)).toBe(false);
  server = (path) => answer(path, { headers: { 'content-type': 'text/css' } });
  await script('/a.css');
  expect(cache.entries.has(`${SITE}/a.css`)).toBe(true);
});

test('what a page loaded before is stored, of this origin, and no address with a query is asked for again', async () => {
  const asked: string[] = [];
  server = (path) => {
    asked.push(path);
    return answer(path, path.endsWith('.js') ? { headers: { 'content-type': 'text/javascript' } } : {});
  };
  built.set('/built.js', 'built');
  const parts = ['/a.js', '/built.js'].map((path) => SITE + path);
  await seen.addLoaded(`${SITE}/#top`, [...parts, 'https://cdn.example/b.js']);
  await seen.addLoaded(`${SITE}/confirm?token=1`, []);
  expect(asked.toSorted()).toEqual(['/', '/a.js']);
  server = offline;
  expect(await visit('/')).toBe('/');
  expect(await script('/a.js')).toBe('/a.js');
});
