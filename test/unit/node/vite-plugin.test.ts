import { createHash } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { build, createLogger, createServer as createDevServer, preview } from 'vite';
import { expect, onTestFinished, test, vi } from 'vitest';

import { serveFolder } from '../../../src/node/vite-plugin/middlewares.ts';
import localtext, { type LocaltextOptions } from '../../../src/node/vite-plugin/vite-plugin.ts';
import { listen } from '../../support/listen.ts';
import { tempFolder } from '../../support/temp-folder.ts';

/** A server that serves weights and answers everything else with a page. */
async function serveWeights(path: string): Promise<(url: string) => Promise<[status: number, text: string]>> {
  const folder = await tempFolder('models');
  await mkdir(join(folder, 'tiny'));
  await writeFile(join(folder, 'tiny/model.gguf'), 'weights');
  const middleware = serveFolder(path, folder);
  const server = createServer((request, response) =>
    middleware(request, response, () => response.end(`page ${request.url}`)),
  );
  const origin = await listen(server);
  return async (url) => {
    const response = await fetch(`${origin}${url}`, { headers: { connection: 'close' } });
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

test('what the bundle writes over a public file is listed once, and sound and video are not', async () => {
  const root = await tempFolder('build');
  const files = {
    'index.html': '<!doctype html><script type="module" src="/main.js"></script>',
    'main.js': 'import clip from "./clip.mp4?url"; document.title = clip;',
    'clip.mp4': 'x'.repeat(5000),
    'public/index.html': 'of the public folder',
    'public/emitted.json': 'of the public folder',
    'public/localtext-sw.js': 'of localtext init',
    'public/localtext-sw-files.js': 'of localtext init',
    'public/localtext-sw-import.js': 'of localtext init',
    'public/words.txt': 'kept',
  };
  await mkdir(join(root, 'public'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  const emits = {
    name: 'emits',
    generateBundle(this: { emitFile(file: object): void }) {
      this.emitFile({ type: 'asset', fileName: 'emitted.json', source: 'of the bundle' });
    },
  };
  const plugins = [emits, localtext()];
  const customLogger = createLogger('error');
  const warning = vi.spyOn(customLogger, 'warnOnce').mockReturnValue();
  const result = await build({ root, configFile: false, customLogger, plugins, build: { write: false } });
  expect(warning).toHaveBeenCalledWith(expect.stringMatching(/no folder .*models\. .*npx localtext pull/));
  const { configResolved } = localtext({ models: false });
  const warnOnce = vi.fn<() => void>();
  (configResolved as (config: object) => void)({ root, logger: { warnOnce }, plugins: [] });
  expect(warnOnce).not.toHaveBeenCalled();
  const { output } = result as { output: { fileName: string; source?: string | Uint8Array }[] };
  const script = String(output.find(({ fileName }) => fileName === 'localtext-sw.js')?.source);
  const lists = script.slice(0, script.indexOf('\n'));
  const sources = new Map(output.map(({ fileName, source }) => [fileName, source]));
  const listed = [...lists.matchAll(/"url":"([^"]+)","revision":[^,]+,"sha256":"(\w+)"/g)];
  const names = listed.map(([, url = '']) => url).filter((url) => !url.startsWith('localtext/wasm/'));
  expect(names.toSorted()).toEqual([
    expect.stringMatching(/^assets\/index-[\w-]+\.js$/),
    'emitted.json',
    'index.html',
    'words.txt',
  ]);
  for (const [, url = '', hash] of listed.filter(([, each = '']) =>
    ['emitted.json', 'index.html'].includes(each),
  ))
    expect(
      createHash('sha256')
        .update(sources.get(url) ?? '')
        .digest('hex'),
    ).toBe(hash);
  expect(output.some(({ fileName }) => fileName.endsWith('.mp4'))).toBe(true);
});

test.each<[string, LocaltextOptions, Record<string, string>, object | null]>([
  ['a build with a page', {}, { 'index.html': '<!doctype html>' }, null],
  ['a build without a page, as of a server', {}, {}, {}],
  ['a page and the option', { pages: 'network-first' }, { 'index.html': '<!doctype html>' }, {}],
  [
    'an offline page',
    { offlinePage: 'offline.html' },
    { 'public/offline.html': 'offline' },
    { offlinePage: 'offline.html' },
  ],
])('pages are network-first by the build and the options: %s', async (_, options, files, expected) => {
  const root = await tempFolder('build');
  await mkdir(join(root, 'public'));
  for (const [name, text] of Object.entries({ 'main.js': 'document.title = 1', ...files }))
    await writeFile(join(root, name), text);
  const input = 'index.html' in files ? 'index.html' : 'main.js';
  const result = await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [localtext(options)],
    build: { write: false, rolldownOptions: { input: join(root, input) } },
  });
  const { output } = result as { output: { fileName: string; source?: string | Uint8Array }[] };
  const script = String(output.find(({ fileName }) => fileName === 'localtext-sw.js')?.source);
  const found = /__LOCALTEXT_NETWORK_FIRST__=([^;]+);\n/.exec(script)?.[1];
  expect(found === undefined ? null : JSON.parse(found)).toEqual(expected);
});

test('an option of pages that cannot be kept is an error', () => {
  expect(() => localtext({ pages: 'cache-first' as 'network-first' })).toThrow(/`pages` is 'network-first'/);
  expect(() => localtext({ serviceWorker: 'sw.js', offlinePage: 'a.html' })).toThrow(
    /only for localtext's own/,
  );
});

/** Status of an answer to a request that names another host, as a page does whose name leads to this machine. */
async function statusAs(host: string, server: Server, path: string): Promise<number | undefined> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, agent: false, headers: { host } };
    httpRequest(options, (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

test('the dev and preview servers serve weights and scripts only to pages of their own host names', async () => {
  const root = await tempFolder('hosts');
  await mkdir(join(root, 'public/models/tiny'), { recursive: true });
  await mkdir(join(root, 'dist'));
  await writeFile(join(root, 'dist/localtext-sw.js'), '1');
  await writeFile(join(root, 'public/models/tiny/model.gguf'), 'weights');
  const address = { host: '127.0.0.1', port: 0 };
  const options = { root, configFile: false as const, logLevel: 'error' as const, plugins: [localtext()] };
  const dev = await createDevServer({ ...options, server: address });
  const built = await preview({ ...options, preview: address });
  onTestFinished(async () => {
    await Promise.all([dev.close(), built.close()]);
  });
  await dev.listen();
  for (const { httpServer } of [dev, built]) {
    expect(await statusAs('localhost', httpServer as Server, '//')).toBe(404);
    for (const path of ['/models/tiny/model.gguf', '/localtext-sw.js']) {
      expect(await statusAs('localhost', httpServer as Server, path)).toBe(200);
      expect(await statusAs('attacker.example', httpServer as Server, path)).toBe(403);
    }
  }
});

test.each(['localtext-sw.js', 'localtext-sw-files.js'])(
  'a file of the public folder that a build would replace stops the build: %s',
  async (name) => {
    const root = await tempFolder('build');
    await mkdir(join(root, 'public'));
    await writeFile(join(root, 'index.html'), '<!doctype html>');
    await writeFile(join(root, 'public', name), 'own');
    const buildSite = (emptyOutDir = true) =>
      build({ root, configFile: false, logLevel: 'silent', plugins: [localtext()], build: { emptyOutDir } });
    await expect(buildSite()).rejects.toThrow(join('public', name));
    await rm(join(root, 'public', name));
    await buildSite();
    // Files of an earlier build are its own, also where the folder is not emptied.
    await buildSite(false);
    const list = join(root, 'dist/localtext-files.json');
    await rm(list);
    await mkdir(list);
    await expect(buildSite(false)).rejects.toThrow(`${list} is a link, a folder or a device`);
  },
);

test.each([{ models: '' }, { serviceWorker: '' }])('an empty path is refused: %j', (options) => {
  expect(() => localtext(options)).toThrow('`models` and `serviceWorker` are paths');
});
