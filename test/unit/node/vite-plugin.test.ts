import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { serveFolder } from '../../../src/node/vite-plugin/middlewares.ts';
import localtext from '../../../src/node/vite-plugin/vite-plugin.ts';

/** A server that serves weights and answers everything else with a page. */
async function serveWeights(path: string): Promise<(url: string) => Promise<[status: number, text: string]>> {
  const folder = await mkdtemp(join(tmpdir(), 'localtext-models-'));
  await mkdir(join(folder, 'tiny'));
  await writeFile(join(folder, 'tiny/model.gguf'), 'weights');
  const middleware = serveFolder(path, folder);
  const server = createServer((request, response) =>
    middleware(request, response, () => response.end(`page ${request.url}`)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });
  const { port } = server.address() as AddressInfo;
  return async (url) => {
    const response = await fetch(`http://127.0.0.1:${port}${url}`, { headers: { connection: 'close' } });
    return [response.status, await response.text()];
  };
}

test.each(['/', '/app/'])(
  'below %s, weights are served, and pages and modules called models are not in their place',
  async (base) => {
    const get = await serveWeights(`${base}models/`);
    expect(await get(`${base}models/tiny/model.gguf`)).toEqual([200, 'weights']);
    for (const missing of ['tiny/model.onnx', 'tiny', 'index.html'])
      expect(await get(`${base}models/${missing}`)).toEqual([404, '']);
    for (const end of ['', '/', '/?a', '.js', '.ts', '.html', '.js?t=1', '?import', '-list', 's/a.js'])
      expect(await get(`${base}models${end}`)).toEqual([200, `page ${base}models${end}`]);
  },
);

test.each([
  [undefined, '/'],
  ['/', '/'],
  ['/app', '/app/'],
  ['/app/', '/app/'],
  ['', './'],
  ['./', './'],
  ['https://cdn.example/app/', '/'],
  ['//cdn.example/app', '/'],
])('with the base %j pages find their files and their scope at %s', async (base, expected) => {
  const { config } = localtext();
  const { define } = await (config as (config: object) => Promise<{ define: Record<string, string> }>)({
    ...(base !== undefined && { base }),
  });
  expect(JSON.parse(define['__LOCALTEXT_BASE__'] ?? '')).toBe(expected);
});
