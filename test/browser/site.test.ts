import { expect, inject, test } from 'vitest';

import { wasmNames } from '../../src/node/wasm-files.ts';

const siteUrl = inject('siteUrl');
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
