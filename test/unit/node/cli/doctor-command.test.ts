import { readFile } from 'node:fs/promises';

import { expect, test, vi } from 'vitest';

import { run } from '../../../../src/node/cli/doctor-command.ts';
import { type DoctorOptions, examineSite } from '../../../../src/node/cli/doctor/examine.ts';
import type { Finding } from '../../../../src/node/cli/doctor/answers.ts';
import { examinePage } from '../../../../src/node/cli/doctor/page.ts';
import { PAGE, serveSite, type SiteAnswer, soundSite } from './doctor/broken-site.ts';

type Site = Record<string, SiteAnswer>;

/** What the doctor says of a sound site with something wrong in it, but for what is well. */
async function complaints(
  spoil: (site: Site) => void,
  options: DoctorOptions & { path?: string; fallback?: SiteAnswer } = {},
): Promise<Finding[]> {
  const site = soundSite();
  spoil(site);
  const url = await serveSite(site, options.fallback);
  const findings = await examineSite(url + (options.path ?? '/'), options);
  return findings.filter(({ level }) => level !== 'ok');
}

const change = (site: Site, path: string, answer: SiteAnswer): void => {
  site[path] = { ...site[path], ...answer };
};
/** Serves a path of the site with this type, and with no other headers than these. */
const serves =
  (path: string, type: string, more: Record<string, string> = {}) =>
  (site: Site): void =>
    change(site, path, { headers: { 'content-type': type, ...more } });
const html: SiteAnswer = { headers: { 'content-type': 'text/html' }, body: '<p>the app' };

test('a sound site: nothing at fault, and the command ends with 0', async () => {
  expect(await complaints(() => undefined)).toEqual([]);
  const said = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const url = await serveSite(soundSite());
  expect(await run([url])).toBe(0);
  expect(said.mock.calls.flat().join('\n')).toMatch(/WASM has threads[\s\S]*No faults found/);
});

test('a fault: the command ends with 1, says it in text and in JSON', async () => {
  const said = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const site = soundSite();
  delete site['/localtext-sw.js'];
  const url = await serveSite(site);
  expect(await run([url])).toBe(1);
  expect(said.mock.calls.flat().join('\n')).toMatch(
    /FAULT {4}There is no service worker[\s\S]*→ Put localtext/,
  );
  said.mockClear();
  expect(await run([url, '--json'])).toBe(1);
  const findings = JSON.parse(String(said.mock.calls[0]?.[0])) as Finding[];
  expect(findings.filter(({ level }) => level === 'fault').length).toBeGreaterThan(0);
});

test('a page to which the host adds a script is the listed one', async () => {
  const added = PAGE.replace('</head>', '<script src="/statistics.js"></script></head>');
  expect(await complaints((site) => change(site, '/index.html', { body: added }))).toEqual([]);
});

test('isolation headers may have parameters', async () => {
  const headers = {
    'cross-origin-opener-policy': 'same-origin; report-to="coop"',
    'cross-origin-embedder-policy': 'require-corp;report-to="coep"',
  };
  expect(await complaints(serves('/', 'text/html', headers))).toEqual([]);
});

test('the command stops when it is interrupted', async () => {
  const interrupt = new AbortController();
  const url = await serveSite(soundSite());
  interrupt.abort(new Error('interrupted'));
  await expect(examineSite(url, { signal: interrupt.signal })).rejects.toThrow('interrupted');
});

/** What is wrong → the one thing said of it. */
const cases: [string, (site: Site) => void, 'fault' | 'warning', RegExp, RegExp][] = [
  [
    'no isolation headers',
    serves('/', 'text/html'),
    'warning',
    /do not isolate it: WASM has one thread, unless/,
    /Cross-Origin-Embedder-Policy: require-corp/,
  ],
  [
    'isolation headers of the wrong kind',
    serves('/', 'text/html', { 'cross-origin-embedder-policy': 'unsafe-none' }),
    'fault',
    /COOP none, COEP unsafe-none/,
    /same-origin/,
  ],
  [
    'a COOP that the service worker leaves alone',
    serves('/', 'text/html', { 'cross-origin-opener-policy': 'same-origin-allow-popups' }),
    'warning',
    /COOP same-origin-allow-popups, COEP none/,
    /same-origin/,
  ],
  [
    'the service worker of a wrong type',
    serves('/localtext-sw.js', 'text/plain'),
    'fault',
    /is served as text\/plain/,
    /text\/javascript/,
  ],
  [
    'a service worker without localtext',
    (site) => change(site, '/localtext-sw.js', { body: 'self.skipWaiting()' }),
    'fault',
    /does not contain localtext/,
    /addLocaltext/,
  ],
  [
    'a service worker that imports a script which is not there',
    (site) =>
      change(site, '/localtext-sw.js', {
        body: 'self.skipWaiting();importScripts("localtext-sw-import.js")',
      }),
    'fault',
    /imports http.*\/localtext-sw-import\.js, which answers 404/,
    /`localtext init` write localtext-sw-import\.js/,
  ],
  ...[
    "[{url:'index.html',revision:null}]",
    '[null]',
    '[{"url":"http://["}]',
    '[{"url":"http://other.example/"}]',
  ].map((list): (typeof cases)[number] => [
    `a list of files that no build has written: ${list}`,
    (site) =>
      change(site, '/localtext-sw.js', {
        headers: { 'content-type': 'text/javascript', 'service-worker-allowed': 'http://[' },
        body: `self.__LOCALTEXT_PRECACHE__=${list};"localtext:claim"`,
      }),
    'warning',
    /list of the files .* was changed since the build, as by a minifier: they are not checked/,
    /as it was built/,
  ]),
  [
    'a service worker that is cached for long',
    serves('/localtext-sw.js', 'text/javascript', { 'cache-control': 'max-age=31536000' }),
    'warning',
    /cached for a long time/,
    /no-cache/,
  ],
  [
    'WASM of a wrong type',
    serves('/localtext/wasm/wllama.wasm', 'application/octet-stream'),
    'fault',
    /wllama\.wasm is served as application\/octet-stream/,
    /application\/wasm/,
  ],
  [
    'a script of a wrong type',
    serves('/localtext/wasm/ort-wasm-simd-threaded.js', 'application/octet-stream'),
    'fault',
    /refuse it as a module/,
    /\.js files as text\/javascript/,
  ],
  [
    'a file of the build that was not deployed',
    (site) => delete site['/assets/app.js'],
    'fault',
    /assets\/app\.js answers 404, and cannot be cached for offline use/,
    /complete build/,
  ],
  [
    'an engine of which a part was uploaded',
    (site) => change(site, '/localtext/wasm/wllama.wasm', { body: '\0asm' }),
    'fault',
    /wllama\.wasm is not the file that the service worker lists, and is not stored/,
    /Deploy the complete build again, clear the host's cache/,
  ],
  [
    'a script of an earlier build',
    (site) => change(site, '/assets/app.js', { body: 'earlier()' }),
    'fault',
    /app\.js is not the file that the service worker lists: updates are not installed/,
    /CDN/,
  ],
  [
    'a page of an earlier build',
    (site) => change(site, '/index.html', { body: PAGE.replace('1a', '1b') }),
    'fault',
    /index\.html is not the file that the service worker lists/,
    /CDN/,
  ],
  [
    'a picture that the host has shrunk',
    (site) => change(site, '/picture.png', { body: 'smaller' }),
    'warning',
    /picture\.png is not the file that the service worker lists/,
    /pictures/,
  ],
  [
    'weights of a wrong size, as a Git LFS pointer has',
    (site) => change(site, '/models/all-minilm-l6-v2-int8/onnx/model.onnx', { bytes: 134 }),
    'fault',
    /has 134 bytes instead of 23610634/,
    /Git LFS/,
  ],
  [
    'weights that are not there in part',
    (site) => delete site['/models/all-minilm-l6-v2-int8/config.json'],
    'fault',
    /Some of the weights of all-minilm/,
    /localtext pull/,
  ],
  [
    'weights that do not come in ranges',
    (site) =>
      change(site, '/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf', { ranges: false }),
    'warning',
    /is not served in ranges/,
    /206/,
  ],
  [
    'weights sent compressed',
    (site) =>
      change(site, '/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf', {
        headers: { 'content-encoding': 'gzip' },
      }),
    'fault',
    /is served compressed/,
    /turn it off/,
  ],
  [
    'a policy that forbids WebAssembly',
    (site) =>
      change(site, '/', {
        headers: {
          ...site['/']?.headers,
          'content-security-policy': "script-src 'self'; connect-src 'self'",
        },
      }),
    'fault',
    /forbids WebAssembly/,
    /wasm-unsafe-eval/,
  ],
];

test.each(cases)('%s', async (_name, spoil, level, text, fix) => {
  const found = await complaints(spoil);
  expect(found).toEqual([
    { level, text: expect.stringMatching(text) as string, fix: expect.stringMatching(fix) as string },
  ]);
});

test('a server for single-page apps, which answers with its page where a file is missing', async () => {
  const found = await complaints(
    (site) => {
      for (const path of Object.keys(site)) if (path !== '/') delete site[path];
    },
    { fallback: html },
  );
  expect(found.map(({ text }) => text)).toEqual([
    expect.stringMatching(/no service worker at .*: a page of HTML is answered/),
    expect.stringMatching(/There are no weights/),
  ]);
});

test('a generated service worker imports localtext, beside scripts of other origins', async () => {
  const javascript = { 'content-type': 'text/javascript' };
  const body = `define(["./workbox-1a"],function(e){"use strict";importScripts("https://other.example/x.js",'./localtext-sw-import.js'),self.skipWaiting()})`;
  const found = await complaints(
    (site) => {
      site['/app/sw.js'] = { headers: javascript, body };
      site['/app/localtext-sw-import.js'] = { headers: javascript, body: '"localtext:claim"' };
      site['/app/'] = site['/'] ?? {};
    },
    { path: '/app/', serviceWorker: 'sw.js', models: '/models/' },
  );
  expect(found).toEqual([]);
});

test('a page above the scope of its service worker', async () => {
  const site = { '/tools/page.html': html };
  const found = await complaints((sound) => Object.assign(sound, site), {
    path: '/tools/page.html',
    serviceWorker: '/assets/sw.js',
  });
  expect(found.some(({ text }) => text.includes('There is no service worker at'))).toBe(true);
  const scoped = await complaints(
    (sound) => {
      Object.assign(sound, site);
      sound['/assets/sw.js'] = sound['/localtext-sw.js'] ?? {};
    },
    { path: '/tools/page.html', serviceWorker: '/assets/sw.js' },
  );
  expect(scoped.some(({ text }) => text.includes('scope is /assets/, and the page /tools/page.html'))).toBe(
    true,
  );
});

test('weights of another origin that does not share them', async () => {
  const store = await serveSite(soundSite());
  const found = await complaints(() => undefined, { models: `${store}/models` });
  expect(found.length).toBeGreaterThan(0);
  for (const { text, fix } of found) {
    expect(text).toMatch(/does not let http:\/\/127\.0\.0\.1:\d+ read/);
    expect(fix).toMatch(/Access-Control-Allow-Origin: http/);
  }
});

test('an address that is not secure', () => {
  const page = (href: string): Finding[] =>
    examinePage({
      url: new URL(href),
      status: 200,
      type: 'text/html',
      headers: new Headers(),
      redirected: false,
      text: '',
    }).filter(({ level }) => level === 'fault');
  expect(page('http://example.com/')).toMatchObject([{ text: expect.stringMatching(/is not https/) }]);
  const secure = ['https://example.com/', 'http://localhost:8080/', 'http://[::1]/', 'http://app.localhost/'];
  for (const href of secure) expect(page(href)).toEqual([]);
});

test('no such address', async () => {
  await expect(examineSite('ftp://example.com', {})).rejects.toThrow(/is not a URL/);
  const models = examineSite('http://127.0.0.1:9', { models: 'http://[' });
  await expect(models).rejects.toThrow(/"http:\/\/\[" is not a URL/);
  const secret = examineSite('http://user:secret@127.0.0.1:9', {});
  await expect(secret).rejects.toThrow(/^The URL of 127.0.0.1:9 has a user name or a password/);
  const secretModels = examineSite('http://127.0.0.1:9', { models: 'http://user:secret@models.example/' });
  await expect(secretModels).rejects.toThrow(/^The URL of models.example has a user name or a password/);
  await expect(examineSite('http://127.0.0.1:9', {})).rejects.toThrow(/does not answer: .+/);
  const signIn = await serveSite({ '/': { status: 407 } });
  await expect(examineSite(signIn, {})).rejects.toThrow(/does not answer: .+ asks for a sign-in \(407\)$/);
});

test.each([
  ['nginx/1.22.1', '#nginx'],
  ['Apache/2.4', '#apache'],
  ['Netlify', '#netlify'],
  ['Vercel', '#vercel'],
  ['GitHub.com', '#github-pages'],
])('the advice names the section on the host: %s', async (server, anchor) => {
  const adviceOf = async (headers: Record<string, string>): Promise<string | undefined> =>
    (await complaints(serves('/localtext/wasm/wllama.wasm', 'application/octet-stream', headers)))[0]?.fix;
  expect(await adviceOf({ server })).toMatch(new RegExp(`: docs/hosting\\.md${anchor}$`));
  expect(await adviceOf({ server: 'another' })).toMatch(/application\/wasm\.$/);
  const hosting = await readFile('docs/hosting.md', 'utf8');
  const sections = [...hosting.matchAll(/^### (.+)$/gm)].map(([, title = '']) => title);
  expect(sections.map((title) => `#${title.toLowerCase().replace(' ', '-')}`)).toContain(anchor);
});

test('the advice on isolation headers and on fallback pages names the section, too', async () => {
  const nginx = { 'content-type': 'text/html', server: 'nginx' };
  const page = await complaints((site) => {
    site['/'] = { headers: nginx, body: '<p>a page' };
  });
  expect(page.map(({ fix }) => fix).join()).toContain('docs/hosting.md#nginx');
  const fallback = await complaints((site) => delete site['/localtext/wasm/wllama.wasm'], {
    fallback: { headers: nginx, body: '<p>the app' },
  });
  expect(fallback.map(({ fix }) => fix).join()).toContain('docs/hosting.md#nginx');
});
