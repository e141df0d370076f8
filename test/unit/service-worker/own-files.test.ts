import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { ownFiles } from '../../../src/service-worker/site-files.ts';

const SITE = 'https://site.example/app/';
const importScripts = vi.fn<(url: string) => void>();

beforeEach(() => {
  importScripts.mockReset();
  vi.stubGlobal('location', new URL(`${SITE}sw.js`));
  vi.stubGlobal('registration', { scope: SITE });
  vi.stubGlobal('importScripts', importScripts);
  vi.stubGlobal('self', globalThis);
});
afterEach(() => void vi.unstubAllGlobals());

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
