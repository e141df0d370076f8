import type { BrowserContext } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { stopServiceWorker } from '../support/service-worker-control.ts';
import { StaticSite } from '../support/static-site.ts';
import { wasmNames } from '../../src/node/wasm-files.ts';

const siteUrl = inject('siteUrl');
let context: BrowserContext;

beforeAll(async () => {
  context = await launch();
});

test('every answer isolates the page; hashed files live long, the rest is asked for again', async () => {
  const html = await (await fetch(`${siteUrl}/test-page.html`)).text();
  const script = /src="\.?(\/assets\/[^"]+)"/.exec(html)?.[1];
  const names = await wasmNames();
  for (const [path, cacheControl] of [
    ['/', 'no-cache'],
    ['/localtext-sw.js', 'no-cache'],
    [script, 'public, max-age=31536000, immutable'],
    [`/localtext/wasm/${names['wllama.wasm']}`, 'public, max-age=31536000, immutable'],
  ]) {
    const { status, headers } = await fetch(`${siteUrl}${path}`, { method: 'HEAD' });
    expect({ path, status, cacheControl: headers.get('cache-control') }).toEqual({
      path,
      status: 200,
      cacheControl,
    });
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('cross-origin-embedder-policy')).toBe('require-corp');
  }
});

test('weights are served in ranges, and a file that is not there is a 404', async () => {
  const url = `${siteUrl}/models/all-minilm-l6-v2/model.safetensors`;
  const part = await fetch(url, { headers: { range: 'bytes=100-199' } });
  expect(part.status).toBe(206);
  expect(part.headers.get('content-range')).toBe('bytes 100-199/90868376');
  expect((await part.arrayBuffer()).byteLength).toBe(100);
  expect((await fetch(`${siteUrl}/models/nope`)).status).toBe(404);
});

test('/v1 past the service worker says so in JSON', async () => {
  const response = await fetch(`${siteUrl}/v1/models`);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({
    error: { type: 'invalid_request_error', message: expect.stringContaining('service worker') as string },
  });
});

test('the page is isolated, asks no other origin, and survives its service worker and its server', async () => {
  const site = await StaticSite.start();
  const foreign: string[] = [];
  context.on('request', (request) => {
    if (!request.url().startsWith(site.url) && !/^(blob|data):/.test(request.url()))
      foreign.push(request.url());
  });
  const { page, key } = await openPage(context, site.url);
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  const embed = (): Promise<number[][]> =>
    page.evaluate(async (apiKey) => {
      const texts = ['The weather is lovely today.', "It's so sunny outside!", 'He drove to the stadium.'];
      const { data } = await window.client(apiKey).embeddings.create({ model: 'jade-mole-4', input: texts });
      return data.map(({ embedding }) => embedding);
    }, key);
  // As Sentence Transformers publishes them for this model in float32, on its quickstart page.
  const published = [0.666, 0.1046, 0.1411];
  for (const disturb of [null, () => stopServiceWorker(page), () => site.stop()]) {
    await disturb?.();
    const [first, second, third] = await embed();
    const similarities = [dot(first, second), dot(first, third), dot(second, third)];
    for (const [index, value] of published.entries()) expect(similarities[index]).toBeCloseTo(value, 2);
  }
  expect(foreign).toEqual([]);
  await page.close();
});

function dot(a: number[] = [], b: number[] = []): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}
