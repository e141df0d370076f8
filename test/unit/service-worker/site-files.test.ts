import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { ownFiles, SiteFiles } from '../../../src/service-worker/site-files.ts';
import { virtualTime } from '../../support/virtual-time.ts';

virtualTime();

const SITE = 'https://site.example/app/';
const importScripts = vi.fn<(url: string) => void>();

beforeEach(() => {
  importScripts.mockReset();
  vi.stubGlobal('location', new URL(`${SITE}sw.js`));
  vi.stubGlobal('registration', { scope: SITE });
  vi.stubGlobal('importScripts', importScripts);
  vi.stubGlobal('self', globalThis);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test('a worker that another tool has bundled imports the list beside it', () => {
  importScripts.mockImplementation(() => {
    vi.stubGlobal('__LOCALTEXT_SMALL_FILES__', [{ url: 'assets/worker-1.js', revision: null }]);
    vi.stubGlobal('__LOCALTEXT_LARGE_FILES__', [{ url: 'localtext/wasm/wllama.wasm', revision: '1' }]);
  });
  const { small, large } = ownFiles();
  expect(importScripts.mock.calls).toEqual([[`${SITE}localtext-sw-files.js`]]);
  expect(small.has(`${SITE}assets/worker-1.js`)).toBe(true);
  expect(large.has(`${SITE}localtext/wasm/wllama.wasm`)).toBe(true);
});

test('a list in front of the script is enough', () => {
  vi.stubGlobal('__LOCALTEXT_LARGE_FILES__', []);
  ownFiles();
  expect(importScripts).not.toHaveBeenCalled();
});

test('without a list the worker starts, and says what is missing', () => {
  importScripts.mockImplementation(() => {
    throw new DOMException('404', 'NetworkError');
  });
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  expect(ownFiles().large.has(`${SITE}localtext/wasm/wllama.wasm`)).toBe(false);
  expect(warn.mock.calls[0]?.[0]).toMatch(/localtext-sw-files\.js/);
});

test('where the cache does not answer, it is installed without, and files come over the network', async () => {
  const never = () => new Promise<never>(() => undefined);
  const cache = { keys: vi.fn(never), match: vi.fn(never), put: vi.fn(never) };
  vi.stubGlobal('caches', { open: () => Promise.resolve(cache) });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('of the network')));
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const files = new SiteFiles('files', [{ url: 'index.html', revision: '1' }]);
  await files.install();
  await files.deleteOutdated();
  const response = await files.respond(new Request(`${SITE}index.html`));
  await expect(response.text()).resolves.toBe('of the network');
  expect(cache.keys).toHaveBeenCalledOnce();
  expect(cache.match).not.toHaveBeenCalled();
  expect(cache.put).not.toHaveBeenCalled();
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/the cache does not answer/)]]);
});
