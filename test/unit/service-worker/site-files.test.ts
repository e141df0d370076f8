import { createHash } from 'node:crypto';

import { beforeEach, expect, test, vi } from 'vitest';

import type { SiteFile } from '../../../src/base/site-file.ts';
import { ownFiles, SiteFiles } from '../../../src/service-worker/site-files.ts';
import { sleep, virtualTime } from '../../support/virtual-time.ts';

virtualTime();

const SITE = 'https://site.example/app/';
const BODY = 'of this build';
const listed = (url: string, revision: string | null, marks?: string[], body = BODY): SiteFile => ({
  url,
  revision,
  sha256: createHash('sha256').update(body).digest('hex'),
  ...(marks && { marks }),
});
const navigation = (url: string): Request =>
  Object.defineProperty(new Request(url), 'mode', { value: 'navigate' });
const importScripts = vi.fn<(url: string) => void>();

/** Whether a request for it is answered. */
async function has(files: SiteFiles, path: string, init: RequestInit = {}): Promise<boolean> {
  site(new Response('', { status: 404 }));
  const { mode, ...rest } = init;
  const url = SITE + path;
  const answered = files.respond(mode === 'navigate' ? navigation(url) : new Request(url, rest));
  await answered;
  return answered !== undefined;
}

beforeEach(() => {
  importScripts.mockReset();
  vi.stubGlobal('location', new URL(`${SITE}sw.js`));
  vi.stubGlobal('registration', { scope: SITE });
  vi.stubGlobal('importScripts', importScripts);
  vi.stubGlobal('self', globalThis);
  vi.stubGlobal('addEventListener', () => undefined);
});

test('a worker that another tool has bundled imports the list beside it', async () => {
  importScripts.mockImplementation(() => {
    vi.stubGlobal('__LOCALTEXT_SMALL_FILES__', [listed('assets/worker-1.js', null)]);
    vi.stubGlobal('__LOCALTEXT_LARGE_FILES__', [listed('localtext/wasm/wllama.wasm', '1')]);
  });
  const { small, large } = ownFiles();
  expect(importScripts.mock.calls).toEqual([[`${SITE}localtext-sw-files.js`]]);
  expect(await has(small, 'assets/worker-1.js')).toBe(true);
  expect(await has(large, 'localtext/wasm/wllama.wasm')).toBe(true);
});

test('a list in front of the script is enough', () => {
  vi.stubGlobal('__LOCALTEXT_LARGE_FILES__', []);
  ownFiles();
  expect(importScripts).not.toHaveBeenCalled();
});

test('without a list the worker starts, and says what is missing', async () => {
  importScripts.mockImplementation(NO_LIST);
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const { large } = ownFiles();
  expect(warn.mock.calls[0]?.[0]).toMatch(/localtext-sw-files\.js/);
  expect(await has(large, 'localtext/wasm/wllama.wasm')).toBe(false);
});

const NO_LIST = () => {
  throw new DOMException('404', 'NetworkError');
};
const CUT_LIST = () => {
  throw new SyntaxError('Unexpected end of input');
};
const NO_IMPORTS = () => {
  throw new TypeError('Module scripts don’t support importScripts().');
};

test.each([
  ['a page to sign in', new Response('Log in'), NO_LIST, false],
  ['a failing server', new Response('', { status: 503 }), NO_LIST, false],
  ['a list that was cut', new Response('self.x=['), CUT_LIST, false],
  ['no network', new TypeError('Failed to fetch'), NO_LIST, false],
  ['a host that has no list', new Response('', { status: 404 }), NO_LIST, true],
  ['a module worker', new Response('self.', { status: 200 }), NO_IMPORTS, true],
])(
  'an update without a list deletes nothing, and is installed only where there is none: %s',
  async (_, answer, importing, isInstalled) => {
    const { stored } = site(new Response(BODY));
    await new SiteFiles('localtext-small-files', [listed('worker.js', '1')]).install();
    site(answer);
    const deleted = vi.fn<(key: string) => Promise<boolean>>();
    const cache = { keys: async () => [...stored.keys()].map((url) => ({ url })), delete: deleted };
    vi.stubGlobal('caches', { open: async () => cache });
    importScripts.mockImplementation(importing);
    update();
    const { small, large } = ownFiles();
    const installed = small.install().then(
      () => true,
      () => false,
    );
    expect(await installed).toBe(isInstalled);
    await small.deleteOutdated();
    await large.deleteOutdated();
    expect(deleted).not.toHaveBeenCalled();
  },
);

test('a first version is installed without a list', async () => {
  site(new Response('Log in'));
  importScripts.mockImplementation(NO_LIST);
  await ownFiles().small.install();
});

test('where the cache does not answer, it is installed without, and files come over the network', async () => {
  const never = () => new Promise<never>(() => undefined);
  const cache = { keys: vi.fn(never), match: vi.fn(never), put: vi.fn(never) };
  vi.stubGlobal('caches', { open: () => Promise.resolve(cache) });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('of the network')));
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const files = new SiteFiles('files', [listed('index.html', '1')]);
  await files.install();
  await files.deleteOutdated();
  const response = await files.respond(new Request(`${SITE}index.html`));
  await expect(response?.text()).resolves.toBe('of the network');
  expect(cache.keys).toHaveBeenCalledOnce();
  expect(cache.match).not.toHaveBeenCalled();
  expect(cache.put).not.toHaveBeenCalled();
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/the cache does not answer/)]]);
});

test.each(['open', 'keys', 'match', 'put', 'delete'])(
  'where `%s` of the cache fails, it is installed and updated, and files come over the network',
  async (call) => {
    const fail = () => Promise.reject(new DOMException('Unexpected internal error.', 'UnknownError'));
    const cache = {
      keys: async () => [{ url: `${SITE}of-an-earlier-build.js` }],
      match: async () => undefined,
      put: async () => undefined,
      delete: async () => true,
      [call]: fail,
    };
    vi.stubGlobal('caches', { open: call === 'open' ? fail : () => Promise.resolve(cache) });
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(BODY)));
    vi.spyOn(console, 'warn').mockReturnValue();
    const listing = [listed('index.html', '1'), listed('assets/app-1a2b3c4d.js', null)];
    for (const active of [null, {}]) {
      vi.stubGlobal('registration', { scope: SITE, active });
      const files = new SiteFiles('files', listing);
      await files.install();
      await files.deleteOutdated();
      for (const { url } of [...listing, ...listing]) {
        const response = await files.respond(new Request(SITE + url));
        await expect(response?.text()).resolves.toBe(BODY);
      }
    }
    expect(console.warn).toHaveBeenCalled();
  },
);

/** A host that answers with these in turn, the last one again and again; and a cache that is asked for real. */
function site(...answers: (Response | Error)[]): {
  stored: Map<string, string>;
  types: (string | null)[];
  asked: RequestCache[];
} {
  const stored = new Map<string, string>();
  const types: (string | null)[] = [];
  const asked: RequestCache[] = [];
  const cache = {
    keys: async () => [...stored.keys()].map((url) => ({ url })),
    match: async (key: string) => (stored.has(key) ? new Response(stored.get(key)) : undefined),
    put: async (key: string, response: Response) => {
      if (response.headers.get('vary') === '*') throw new TypeError('Vary header contains *');
      types.push(response.headers.get('content-type'));
      stored.set(key, await response.text());
    },
    delete: async (key: string) => stored.delete(key),
  };
  vi.stubGlobal('caches', { open: () => Promise.resolve(cache) });
  vi.stubGlobal('fetch', async (request: Request | string, init?: RequestInit) => {
    asked.push(init?.cache ?? (request instanceof Request ? request.cache : 'default'));
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Response) return answer.clone();
    throw answer;
  });
  vi.spyOn(console, 'warn').mockReturnValue();
  return { stored, types, asked };
}

test('a file that a full storage cuts without an error is not kept', async () => {
  const { stored } = site(new Response(BODY));
  const cache = await caches.open('files');
  vi.spyOn(cache, 'put').mockImplementation(async (key) => void stored.set(String(key), ''));
  await new SiteFiles('files', [listed('app.js', '1')]).install();
  expect(stored.size).toBe(0);
});

const html = { headers: { 'content-type': 'text/html' } };
const login = (): Response => new Response('<title>Log in</title>', html);
const update = (): void => void vi.stubGlobal('registration', { scope: SITE, active: {} });

const WRONG: [string, Response | Error][] = [
  ['another body', login()],
  ['a failing server', new Response(BODY, { status: 503 })],
  ['a page that asks to sign in', new Response('Log in', { status: 401 })],
  ['no network', new TypeError('Failed to fetch')],
  ['an empty body', new Response('')],
  ['a body that was cut', new Response(BODY.slice(0, 5))],
  ['a part of the body', new Response(BODY.slice(0, 5), { status: 206 })],
  ['an error in JSON, with status 200', Response.json({ error: 'maintenance' })],
  ['the file of another build', new Response('of another build')],
];

test.each(WRONG)('an update is not installed with %s; a first version is, without it', async (_, wrong) => {
  const { stored } = site(wrong);
  const files = new SiteFiles('files', [listed('app.js', '1')]);
  await files.install();
  update();
  await expect(files.install()).rejects.toThrow();
  expect(stored.size).toBe(0);
});

const LEFT_OUT: [string, Response][] = [
  ['a file that the host leaves out', new Response('', { status: 404 })],
  ['a picture that the host shrinks', new Response('small', { headers: { 'content-type': 'image/webp' } })],
];

test.each(WRONG)('a first version keeps no page while a script of it is missing, by %s', async (_, wrong) => {
  const { stored } = site(new Response(BODY));
  const answer = fetch;
  vi.stubGlobal('fetch', async (url: string, init?: RequestInit) => {
    if (!url.endsWith('.js')) return answer(url, init);
    if (wrong instanceof Response) return wrong.clone();
    throw wrong;
  });
  const listing = ['a.html', 'app.js', 'style.css', 'z/index.html'].map((url) => listed(url, '1'));
  await new SiteFiles('files', listing).install();
  expect([...stored.keys()]).toEqual([expect.stringContaining('style.css')]);
  // At the next visit.
  vi.stubGlobal('fetch', answer);
  await new SiteFiles('files', listing).install();
  expect(stored.size).toBe(4);
});

test('only a GET is answered; a navigation may have a query, and name a folder', async () => {
  const files = new SiteFiles('files', [listed('index.html', '1'), listed('app.js', '1')]);
  for (const path of ['', '?a=1', 'index.html?a#b', '#b'])
    expect(await has(files, path, { mode: 'navigate' })).toBe(true);
  for (const path of ['', '?a=1', 'index.html?a']) expect(await has(files, path)).toBe(false);
  for (const path of ['app.js', 'app.js#b']) expect(await has(files, path)).toBe(true);
  for (const path of ['app.js', 'index.html']) expect(await has(files, path, { method: 'POST' })).toBe(false);
});

const PAGES = ['index.html', 'about.html', 'docs/index.html', '404.html'];

test.each([
  [PAGES, 'about', 'about.html'],
  [PAGES, 'about/?a=1', 'about.html'],
  [PAGES, 'docs?a=1', `to ${SITE}docs/?a=1`],
  [PAGES, 'later', 'no answer'],
  [PAGES, 'about.htm', 'no answer'],
  [['index.html', '404.html', 'app.js'], 'chats/7', 'index.html'],
  [['index.html', '404.html', 'app.js'], 'docs/v1.2', 'index.html'],
  [['index.html', '404.html', 'app.js'], 'users/jane.doe', 'index.html'],
  [['index.html', '404.html', 'app.js'], 'file.zip', 'no answer'],
  [['index.html', 'app.js'], '../other', 'no answer'],
  [['about.html', 'app.js'], 'chats/7', 'no answer'],
  [['index.html', 'about.html', '200.html'], 'chats/7', '200.html'],
])('of the pages %s, %s is answered without a network by %s', async (names, path, expected) => {
  const listing = names.map((name) => listed(name, '1', undefined, name));
  const files = new SiteFiles('files', listing);
  site();
  vi.stubGlobal('fetch', async (url: string) => new Response(url.slice(SITE.length)));
  await files.install();
  const visit = async (isOffline = false): Promise<string | undefined> => {
    const answer = await files.respond(navigation(SITE + path), isOffline)?.catch(() => undefined);
    return answer?.status === 302 ? `to ${answer.headers.get('location')}` : answer?.text();
  };
  vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('Failed to fetch')));
  expect((await visit()) ?? 'no answer').toBe(expected);
  // The host knows the page better.
  vi.stubGlobal('fetch', async () => new Response('of the host'));
  expect((await visit()) ?? 'no answer').toBe(expected === 'no answer' ? expected : 'of the host');
  expect((await visit(true)) ?? 'no answer').toBe(expected);
});

test.each(['https://site.example/', 'http://localhost:5173/'])(
  'the address %s without a path is a route of the app',
  async (root) => {
    vi.stubGlobal('location', new URL(`${root}sw.js`));
    site();
    vi.stubGlobal('fetch', async () => new Response(BODY));
    const files = new SiteFiles('files', [listed('200.html', '1')]);
    await files.install();
    vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('Failed to fetch')));
    expect(await (await files.respond(navigation(root)))?.text()).toBe(BODY);
  },
);

test('a file with a hash in its name that is not there yet stops an update', async () => {
  site(new Response('', { status: 404 }));
  update();
  await expect(new SiteFiles('files', [listed('assets/app-1a2b3c4d.js', null)]).install()).rejects.toThrow();
});

test.each([
  ['app.js', 'text/plain', 'text/javascript'],
  ['app-1a2b3c4d.mjs', 'application/octet-stream', 'text/javascript'],
  ['index.html', 'text/plain', 'text/html'],
  ['index.html', 'text/html; charset=utf-8', 'text/html; charset=utf-8'],
  ['app.js', 'application/javascript', 'application/javascript'],
  ['words.txt', 'text/plain', 'text/plain'],
])('%s that came as %s is stored as %s', async (name, sent, expected) => {
  const { types } = site(new Response(BODY, { headers: { 'content-type': sent } }));
  await new SiteFiles('files', [listed(name, '1')]).install();
  expect(types).toEqual([expected]);
});

test.each(LEFT_OUT)('an update is installed without %s', async (_, answer) => {
  const { stored } = site(answer);
  update();
  await new SiteFiles('files', [listed('picture.png', '1')]).install();
  expect(stored.size).toBe(0);
});

test.each([404, 410])('an update waits for a file that the earlier build had: %s', async (status) => {
  const { stored } = site(new Response('of build 1'), new Response('', { status }));
  await new SiteFiles('files', [listed('index.html', '1', undefined, 'of build 1')]).install();
  update();
  await expect(new SiteFiles('files', [listed('index.html', '2')]).install()).rejects.toThrow(`${status}`);
  expect([...stored.values()]).toEqual(['of build 1']);
});

test('a file is stored whatever it varies by', async () => {
  const { stored } = site(new Response(BODY, { headers: { vary: '*' } }));
  await new SiteFiles('files', [listed('index.html', '1')]).install();
  expect(stored.size).toBe(1);
});

test('a page that the host alters is stored if it has the marks of the build', async () => {
  update();
  const altered = new Response('<meta name="localtext-build" content="1a"><script src="/stats.js">', html);
  const { stored } = site(altered);
  await new SiteFiles('files', [listed('index.html', '1', ['1a'])]).install();
  expect(stored.size).toBe(1);
  await expect(new SiteFiles('files', [listed('about.html', '1', ['1a', '2b'])]).install()).rejects.toThrow();
  await expect(new SiteFiles('files', [listed('plain.html', '1')]).install()).rejects.toThrow();
});

test.each(['no-store', 'private, max-age=0'])(
  'an altered page with Cache-Control: %s is not stored',
  async (control) => {
    update();
    const headers = { 'content-type': 'text/html', 'cache-control': control };
    const { stored } = site(
      new Response('<meta name="localtext-build" content="1a">Welcome back, Ada', { headers }),
    );
    await new SiteFiles('files', [listed('index.html', '1', ['1a'])]).install();
    expect(stored.size).toBe(0);
    // The build's own body says nothing of a user.
    site(new Response(BODY, { headers }));
    const own = site(new Response(BODY, { headers }));
    await new SiteFiles('files', [listed('index.html', '1', ['1a'])]).install();
    expect(own.stored.size).toBe(1);
  },
);

test('a file that hangs does not hold up a first installation, and stops an update', async () => {
  const { stored } = site(new Response(BODY));
  const answer = fetch;
  vi.stubGlobal('fetch', (url: string, init?: RequestInit) =>
    url.endsWith('.js')
      ? new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
      : answer(url, init),
  );
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const abort = new AbortController();
    void sleep(ms).then(() => abort.abort(new DOMException('late', 'TimeoutError')));
    return abort.signal;
  });
  const listing = ['app.js', 'style.css'].map((url) => listed(url, '1'));
  await new SiteFiles('files', listing).install();
  expect(stored.size).toBe(1);
  update();
  await expect(new SiteFiles('files', listing).install()).rejects.toThrow('late');
});

test('a first version whose policy lets it fetch nothing is not installed', async () => {
  site(new TypeError('Failed to fetch'));
  let report: (event: { disposition: string }) => void = () => undefined;
  vi.stubGlobal('addEventListener', (_: string, listener: typeof report) => (report = listener));
  const installed = new SiteFiles('files', [listed('app.js', '1')]).install();
  // Browsers report it after the failure.
  void sleep(1).then(() => report({ disposition: 'enforce' }));
  await expect(installed).rejects.toThrow('connect-src');
  // Without a network, and under a policy that is only reported.
  const offline = new SiteFiles('files', [listed('app.js', '1')]).install();
  void sleep(1).then(() => report({ disposition: 'report' }));
  await offline;
  // Of another request, where files come.
  site(new Response(BODY));
  const whole = new SiteFiles('files', [listed('app.js', '1')]).install();
  report({ disposition: 'enforce' });
  await whole;
});

test('headers that the host has changed come with the next visit, once a start, while the page is the build’s', async () => {
  const page = (policy: string, body = BODY): Response =>
    new Response(body, { headers: { 'content-security-policy': policy } });
  const policies: (string | null)[] = [];
  const { asked, stored } = site(page('old'), page('new'), page('of another build', 'another body'));
  const cache = await caches.open('files');
  const put = cache.put.bind(cache);
  const replaced = new Promise<void>((resolve) => {
    vi.spyOn(cache, 'put').mockImplementation(async (key, response) => {
      policies.push(response.headers.get('content-security-policy'));
      await put(key, response);
      if (policies.length === 2) resolve();
    });
  });
  const listing = [listed('index.html', '1')];
  const files = new SiteFiles('files', listing);
  await files.install();
  const visit = async (worker: SiteFiles) => (await worker.respond(navigation(`${SITE}index.html`)))?.text();
  for (const worker of [files, files, new SiteFiles('files', listing)])
    expect(await visit(worker)).toBe(BODY);
  await replaced;
  expect(policies).toEqual(['old', 'new']);
  expect(asked).toEqual(['reload', 'no-cache', 'no-cache']);
  expect([...stored.values()]).toEqual([BODY]);
});

test('a page that the host alters for a query is not stored as the page without one', async () => {
  const marked = (lang: string): Response => new Response(`<html lang="${lang}">build-1`);
  const { stored } = site(marked('en'));
  const listing = [listed('index.html', '1', ['build-1'])];
  await new SiteFiles('files', listing).install();
  const urls: string[] = [];
  const named = (answer: Response, url: string): Response =>
    Object.defineProperty(answer.clone(), 'url', { value: url });
  vi.stubGlobal('fetch', async (asked: Request | string) => {
    const url = typeof asked === 'string' ? asked : asked.url;
    urls.push(url);
    const answer = marked(url.includes('?') ? 'de' : 'fr');
    return Object.assign(named(answer, url), { clone: () => named(answer, url) });
  });
  const visit = (worker: SiteFiles) => worker.respond(navigation(`${SITE}index.html?lang=de`));
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  // The stored page is compared with the host's of the same address.
  await visit(new SiteFiles('files', listing));
  await vi.waitFor(() => expect([...stored.values()]).toEqual(['<html lang="fr">build-1']));
  stored.clear();
  await visit(new SiteFiles('files', listing));
  await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce());
  expect([...stored.values()]).toEqual([]);
  expect(urls).toEqual([`${SITE}index.html`, `${SITE}index.html?lang=de`]);
});

test('a wrong answer in the HTTP cache is passed over, also of a name with a hash', async () => {
  const { stored, asked } = site(login(), new Response(BODY));
  update();
  await new SiteFiles('files', [listed('app-1a2b3c4d.js', null)]).install();
  expect(asked).toEqual(['default', 'reload']);
  expect([...stored.values()]).toEqual([BODY]);
});

test.each([null, '1'])('a file changes with its build, whose list says revision %s', async (revision) => {
  const host = site(new Response('of build 1'), new Response('of build 2'));
  for (const body of ['of build 1', 'of build 2', 'of build 2']) {
    const files = new SiteFiles('files', [listed('assets/data.json', revision, undefined, body)]);
    await files.install();
    update();
    const response = await files.respond(new Request(`${SITE}assets/data.json`));
    await expect(response?.text()).resolves.toBe(body);
  }
  expect(host.asked).toHaveLength(2);
});

test('WASM is stored before its first use if it is right, and fetched once; after a failed use it is fetched again', async () => {
  // No clock waits for the hash.
  vi.useRealTimers();
  const { stored, asked } = site(login(), new Response(BODY));
  const url = `${SITE}wllama-1.wasm`;
  const files = new SiteFiles('files', [listed('wllama-1.wasm', null)]);
  const text = async (init?: RequestInit) => (await files.respond(new Request(url, init)))?.text();
  expect(await text()).toContain('Log in');
  expect(stored.size).toBe(0);
  expect(console.warn).toHaveBeenCalled();
  expect(await Promise.all([text(), text()])).toEqual([BODY, BODY]);
  expect(stored.size).toBe(1);
  const [key = ''] = stored.keys();
  stored.set(key, 'damaged');
  expect(await text()).toBe('damaged');
  expect(await text({ cache: 'reload' })).toBe(BODY);
  expect(stored.get(key)).toBe(BODY);
  expect(asked).toEqual(['default', 'default', 'reload']);
});

/** Spellings of one path: as it is, by the URL parser, and by encodeURIComponent. */
const spellings = (name: string): string[] => [
  ...new Set([name.replaceAll(/[%?#]/g, encodeURIComponent), encodeURIComponent(name)]),
];
const NAMES = [...` !"#$%&'()*+,-.:;<=>?@[]^_\`{|}~\u00e9\u{1f989}`].map((character) => `a${character}b.png`);

test.each(NAMES)('a file called %s is found however its URL is escaped', async (name) => {
  const { stored } = site(new Response(BODY));
  for (const written of spellings(name)) {
    const files = new SiteFiles('files', [listed(`icons/${written}`, '1')]);
    await files.install();
    expect(stored.size).toBe(1);
    for (const asked of spellings(name)) {
      const url = new URL(`${SITE}icons/${asked}`).href;
      for (const key of stored.keys()) stored.set(key, 'kept');
      await expect((await files.respond(new Request(url)))?.text()).resolves.toBe('kept');
    }
  }
});

test('names that differ stay different, and a malformed escape is a name', async () => {
  const files = new SiteFiles('files', [listed('a%2Fb.png', '1'), listed('c%ZZ.png', '1')]);
  expect(await has(files, 'a%2fb.png')).toBe(true);
  expect(await has(files, 'c%ZZ.png')).toBe(true);
  for (const other of ['a/b.png', 'a%252Fb.png', 'c%25ZZ.png', 'c.png'])
    expect(await has(files, other)).toBe(false);
});
