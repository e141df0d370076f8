import { beforeEach, expect, test, vi } from 'vitest';

import { createFetch } from '../../../src/page/create-fetch.ts';
import { register } from '../../../src/page/registration.ts';
import { engineSettings } from '../../../src/page/start-options.ts';
import { start } from '../../../src/page/start.ts';
import { requireBrowser, requireCache, withStorage } from '../../../src/page/requirements.ts';

beforeEach(() => {
  vi.stubGlobal('document', {});
  vi.stubGlobal('isSecureContext', true);
  vi.stubGlobal('navigator', { locks: {} });
  vi.stubGlobal('indexedDB', {});
  vi.stubGlobal('AbortSignal', { any: () => {} });
});

test('a browser that has every required API passes', async () => {
  await expect(requireBrowser()).resolves.toBeUndefined();
});

test.each([
  ['Web Locks', 'navigator', {}],
  ['IndexedDB', 'indexedDB', undefined],
  ['BroadcastChannel', 'BroadcastChannel', undefined],
  ['WebAssembly', 'WebAssembly', undefined],
  ['AbortSignal.any', 'AbortSignal', {}],
])('a browser without %s is refused with its name and the oldest versions', async (name, key, value) => {
  vi.stubGlobal(key, value);
  await expect(requireBrowser()).rejects.toMatchObject({
    name: 'LocaltextError',
    code: 'browser_unsupported',
    message: expect.stringMatching(new RegExp(`This browser lacks ${name}\\. .*Safari 17\\.4`)),
  });
});

test('an insecure page gets an error that suggests https', async () => {
  vi.stubGlobal('isSecureContext', false);
  vi.stubGlobal('navigator', {});
  await expect(requireBrowser()).rejects.toMatchObject({
    code: 'insecure_context',
    message: expect.stringContaining('Serve it over https'),
  });
});

test('a server has no page: start() and requests of createFetch() are refused, and nothing else throws', async () => {
  vi.unstubAllGlobals();
  for (const navigator of [undefined, {}]) {
    vi.stubGlobal('navigator', navigator);
    for (const refused of [start(), createFetch()('/v1/models')])
      await expect(refused).rejects.toMatchObject({
        name: 'LocaltextError',
        code: 'browser_unsupported',
        message: expect.stringContaining('This is not a web page (a server?)'),
      });
  }
});

test('refused storage is an error that says what to allow; other errors stay as they are', async () => {
  const refused = new DOMException('refused', 'SecurityError');
  await expect(withStorage(() => Promise.reject(refused))).rejects.toMatchObject({
    code: 'storage_unavailable',
    message: expect.stringContaining('Allow cookies and site data'),
    cause: refused,
  });
  const late = new DOMException('signal timed out', 'TimeoutError');
  await expect(withStorage(() => Promise.reject(late))).rejects.toMatchObject({
    code: 'storage_unavailable',
    message: expect.stringContaining('Another tab of this site may show a dialog'),
  });
  const other = new Error('the catalog is wrong');
  await expect(withStorage(() => Promise.reject(other))).rejects.toBe(other);
});

test.each([
  ['absent', undefined],
  ['refused', { has: () => Promise.reject(new DOMException('refused', 'SecurityError')) }],
])('a Cache API that is %s points to createFetch()', async (_how, caches) => {
  vi.stubGlobal('caches', caches);
  await expect(requireCache()).rejects.toMatchObject({
    code: 'cache_unavailable',
    message: expect.stringContaining('use createFetch() instead'),
  });
});

test('a Cache API that does not answer is passed over', async () => {
  vi.useFakeTimers();
  vi.stubGlobal('caches', { has: () => new Promise(() => undefined) });
  const required = requireCache();
  await vi.advanceTimersByTimeAsync(2000);
  await required;
});

test('a sandboxed page gets an error that says what to allow, and does not suggest createFetch()', async () => {
  vi.stubGlobal('origin', 'null');
  vi.stubGlobal('document', { baseURI: 'https://site.example/' });
  vi.stubGlobal('ServiceWorkerRegistration', EventTarget);
  const refused = new DOMException('refused', 'SecurityError');
  const get = (): never => {
    throw refused;
  };
  vi.stubGlobal('navigator', Object.defineProperty({}, 'serviceWorker', { get }));
  for (const failing of [withStorage(() => Promise.reject(refused)), register({ base: '/app/' }, () => {})])
    await expect(failing).rejects.toMatchObject({
      code: 'storage_unavailable',
      message: expect.stringContaining('sandboxed without `allow-same-origin`'),
      cause: refused,
    });
});

test.each([
  ['modelUrl', { modelUrl: '/models/' }],
  ['sources.hubs', { sources: { hubs: true } }],
  ['limits.memory', { limits: { memory: 1 } }],
  ['images.origin', { images: { origin: 'https://images.example' } }],
])('an option that does not exist, %s, is named', (name, options) => {
  vi.stubGlobal('document', { baseURI: 'https://site.example/' });
  expect(() => engineSettings(options as object)).toThrow(`\`${name}\` is unknown. Use `);
});
