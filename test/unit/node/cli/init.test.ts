import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { tempFolder } from '../../../support/temp-folder.ts';
import { localtext } from './run-cli.ts';

let base: string;
let site: string;

/** A built package, with the names of a real one. */
const PACKAGE = {
  'package.json': '{"version":"0.1.0"}',
  'dist/static/localtext-sw.js': 'worker',
  'dist/static/localtext-sw-servers.js': 'worker with servers',
  'dist/static/localtext-sw-import.js': 'importable',
  'dist/static/localtext-sw-remove.js': 'removal',
  'dist/static/localtext/localtext.js': "export * from './page-1.js';",
  'dist/static/localtext/page-1.js': 'page',
  'dist/lib/worker/web-llm-1.js': 'web-llm',
  'dist/wasm/wllama-0602c5fb.wasm': 'wasm',
};
/** A page that --offline marks. */
const PAGE = '<!doctype html><head></head><script src="/app-abc12345.js"></script>';
const MADE =
  'localtext-sw-files.js localtext-sw-import.js localtext-sw.js localtext-files.json localtext/localtext.js localtext/page-1.js localtext/wasm/wllama-0602c5fb.wasm localtext/web-llm-1.js'.split(
    ' ',
  );

beforeEach(async () => {
  base = await tempFolder('init');
  site = join(base, 'site');
  await fill(join(base, 'package'), PACKAGE);
  await fill(site, { 'index.html': PAGE });
  vi.doMock('../../../../src/node/package-files.ts', async (original) => ({
    ...(await original<object>()),
    isClone: () => false,
    packageFile: (path: string) => join(base, 'package', path),
    builtServiceWorker: () => join(base, 'package/dist/static/localtext-sw.js'),
  }));
});

afterEach(async () => {
  vi.doUnmock('../../../../src/node/package-files.ts');
  vi.restoreAllMocks();
});

async function fill(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

const init = (...args: string[]) => localtext('init', ...args);

/** All files below the site, with their texts. */
async function contents(): Promise<Record<string, string>> {
  const entries = await readdir(site, { recursive: true, withFileTypes: true });
  const paths = entries.filter((it) => it.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const texts = await Promise.all(
    paths.map(async (path) => [path.slice(site.length + 1), await readFile(path, 'utf8')] as const),
  );
  return Object.fromEntries(texts);
}

const names = async (): Promise<string[]> => Object.keys(await contents()).toSorted();

test('makes its files, twice, and a new version replaces them', async () => {
  expect(await init(site)).toMatchObject({ status: 0, errors: '' });
  expect(await names()).toEqual(['index.html', ...MADE].toSorted());
  expect(await init(site)).toMatchObject({ status: 0, errors: '' });
  await rm(join(base, 'package/dist/static/localtext/page-1.js'));
  await fill(join(base, 'package/dist/static/localtext'), {
    'localtext.js': "export * from './page-2.js';",
    'page-2.js': 'page',
  });
  expect(await init(site)).toMatchObject({ status: 0, errors: '' });
  expect(await names()).toEqual(
    ['index.html', ...MADE].map((name) => name.replace('page-1', 'page-2')).toSorted(),
  );
});

describe.each([[[]], [['--offline']], [['--remove']], [['--remove=all']]])('%j', (flags) => {
  test.each<[string, (site: string) => Promise<void>, string?]>([
    ["the site's own service worker of that name", (at) => fill(at, { 'localtext-sw.js': 'own' })],
    ['a compressed copy, which a host would serve', (at) => fill(at, { 'localtext-sw.js.br': 'own' })],
    ["the site's own list", (at) => fill(at, { 'localtext-sw-files.js': 'own' })],
    ['a folder of that name', (at) => fill(at, { 'localtext-sw.js/file': 'own' }), 'localtext-sw.js'],
    [
      'a link of that name',
      async (at) => {
        await fill(base, { 'own.js': 'own' });
        await symlink(join(base, 'own.js'), join(at, 'localtext-sw.js'));
      },
      'localtext-sw.js',
    ],
  ])('%s stays, and is named', async (_, make, named) => {
    await make(site);
    const before = await contents();
    const { status, output, errors } = await init(site, ...flags);
    expect({ status, output }).toEqual({ status: 1, output: '' });
    const path = named ?? Object.keys(before).find((name) => name !== 'index.html') ?? '';
    expect(errors).toBe(
      `These files are in the way: localtext did not make them, or they were changed since.\n  ${join(site, path)}\nNothing was written. Move or delete them, and run this again.`,
    );
    expect(await contents()).toEqual(before);
  });

  test("the user's own files in the folder localtext stay", async () => {
    await init(site);
    const own = { 'localtext/notes.txt': 'own', 'localtext/wasm/own.wasm': 'own', 'other.js': 'own' };
    await fill(site, own);
    expect(await init(site, ...flags)).toMatchObject({ status: 0, errors: '' });
    expect(await contents()).toMatchObject(own);
  });

  test('a list that cannot be read stays, and so does everything else', async () => {
    await init(site);
    for (const list of [
      '{',
      '{"version":2,"files":{}}',
      '{"version":1,"files":{"../own":"0"}}',
      '{"version":1,"files":{},"replaced":{"index.html":0}}',
    ]) {
      await fill(site, { 'localtext-files.json': list });
      const before = await contents();
      const { status, errors } = await init(site, ...flags);
      expect(status).toBe(1);
      expect(errors).toMatch(
        /localtext-files\.json is not a list of localtext's files that this version can read/,
      );
      expect(await contents()).toEqual(before);
    }
  });
});

test('a built file that was changed is in the way of a new one, and --remove leaves it', async () => {
  await init(site);
  await fill(site, { 'localtext/page-1.js': 'changed' });
  expect(await init(site)).toMatchObject({ status: 1 });
  const { status, errors } = await init(site, '--remove');
  expect(status).toBe(0);
  expect(errors).toBe(
    `Kept ${join(site, 'localtext/page-1.js')}: it was changed since localtext made it. Delete it yourself.`,
  );
  expect(await names()).toEqual(
    [
      'index.html',
      'localtext-sw-files.js',
      'localtext-sw-import.js',
      'localtext-sw.js',
      'localtext-files.json',
      'localtext/page-1.js',
    ].toSorted(),
  );
  expect((await contents())['localtext-sw.js']).toContain('removal');
});

test('an interrupted run is continued by the next one, of another version too', async () => {
  await init(site);
  await writeFile(join(base, 'package/dist/static/localtext-sw.js'), 'another worker');
  // A folder in the place of a file ends the run after the list and some files were written.
  await fill(base, { 'package/dist/static/localtext/last.js': 'last' });
  for (const name of ['localtext.js', 'page-1.js'])
    await fill(base, { [`package/dist/static/localtext/${name}`]: `another ${name}` });
  const { replaceFile } = await import('../../../../src/node/files.ts');
  let writes = 0;
  vi.doMock('../../../../src/node/files.ts', async (original) => ({
    ...(await original<object>()),
    replaceFile: async (path: string, content: string) => {
      if (++writes > 3) throw new Error('interrupted');
      await replaceFile(path, content);
    },
  }));
  await expect(init(site)).rejects.toThrow('interrupted');
  vi.doUnmock('../../../../src/node/files.ts');
  await writeFile(join(base, 'package/dist/static/localtext-sw.js'), 'a third worker');
  expect(await init(site)).toMatchObject({ status: 0, errors: '' });
  expect((await contents())['localtext-sw.js']).toContain('a third worker');
  expect(JSON.parse((await contents())['localtext-files.json'] ?? '')).not.toHaveProperty('replaced');
  expect(await init(site, '--remove')).toMatchObject({ status: 0, errors: '' });
  expect(await names()).not.toContain('localtext/last.js');
  expect((await init(join(base, 'sit'), '--remove')).errors).toMatch(/sit does not exist\. Name the folder/);
});

test.each(['sw+a.js', 'a b/ü.js', '...js', '[id].js'])('the list may name %s', async (name) => {
  await fill(site, {
    [name]: 'own',
    'localtext-files.json': JSON.stringify({ version: 1, files: { [name]: '0' } }),
  });
  const { status, errors } = await init(site);
  expect({ status, errors }).toMatchObject({ status: 0, errors: expect.stringMatching(/^Kept /) as string });
});

test.each(['/etc/own', 'a/../../own', '..', 'a/./b', '', 'a/', 'a\\..\\b', 'a\0'])(
  'a list that names %j is refused',
  async (name) => {
    await fill(site, { 'localtext-files.json': JSON.stringify({ version: 1, files: { [name]: '0' } }) });
    expect((await init(site)).errors).toContain('is not a list of');
  },
);

test('pages are network-first in a folder without a page, and where that is asked for', async () => {
  const mode = async (...args: string[]): Promise<unknown> => {
    const { status, errors } = await init(site, ...args);
    if (status !== 0) return errors;
    const script = (await contents())['localtext-sw.js'] ?? '';
    const found = /__LOCALTEXT_NETWORK_FIRST__=([^;]+);/.exec(script)?.[1];
    return found === undefined ? null : (JSON.parse(found) as unknown);
  };
  expect(await mode()).toBe(null);
  expect(await mode('--network-first')).toEqual({});
  await fill(site, { 'pages/off line.html': 'offline' });
  expect(await mode('--offline-page', 'pages/off line.html')).toEqual({
    offlinePage: 'pages/off%20line.html',
  });
  expect((await contents())['localtext-sw.js']).toContain('"url":"pages/off%20line.html"');
  expect(await mode('--offline', '--offline-page', 'index.html')).toEqual({ offlinePage: 'index.html' });
  expect(await mode('--offline-page', 'none.html')).toMatch(/^The offline page "none\.html" is not one of/);
  for (const page of ['index.html', 'pages/off line.html']) await rm(join(site, page));
  // Pages of packages and of models are no pages of the site. Packages may be links to folders above.
  await fill(site, { 'node_modules/a/index.html': '', 'models/card.html': '' });
  for (const name of ['b', 'c']) await symlink(site, join(site, 'node_modules', name), 'junction');
  expect(await mode()).toEqual({});
});

test('a folder localtext that has become a link is in the way, and is not emptied', async () => {
  await init(site);
  await rename(join(site, 'localtext'), join(base, 'elsewhere'));
  const files = await readdir(join(base, 'elsewhere'));
  await symlink(join(base, 'elsewhere'), join(site, 'localtext'), 'junction');
  expect((await init(site)).errors).toContain(`  ${join(site, 'localtext')}\n`);
  expect((await init(site, '--remove')).errors).toContain(`Kept ${join(site, 'localtext', files[0] ?? '')}`);
  expect(await readdir(join(base, 'elsewhere'))).toEqual(files);
});

test('--offline keeps the permissions and the owner of the pages that it marks', async () => {
  const page = join(site, 'index.html');
  await chmod(page, 0o640);
  // Only root may give a file away.
  const owner = process.getuid?.() === 0 ? 1234 : (await stat(page)).uid;
  await chown(page, owner, (await stat(page)).gid);
  expect(await init(site, '--offline')).toMatchObject({ status: 0, errors: '' });
  expect(await readFile(page, 'utf8')).toContain('<meta name="localtext-page"');
  // The list changes with each run: the service worker must not expect this one.
  await init(site, '--offline');
  expect((await contents())['localtext-sw.js']).not.toContain('localtext-files.json');
  expect(await stat(page)).toMatchObject({ uid: owner, mode: 0o100640 });
});

test('--offline keeps pages that are links, and changes none that lies elsewhere', async () => {
  await fill(base, { 'elsewhere/page.html': PAGE });
  // A host serves the copy, which has no mark.
  await fill(site, { 'real/page.html': PAGE, 'real/page.html.br': '' });
  for (const [name, target] of Object.entries({
    'home.html': 'index.html',
    more: '../elsewhere',
    loop: '.',
    'none.html': 'nowhere',
    'copied.html': 'real/page.html',
  }))
    await symlink(target, join(site, name));
  expect(await init(site, '--offline')).toMatchObject({ status: 0, errors: '' });
  const script = (await contents())['localtext-sw.js'] ?? '';
  expect([...script.matchAll(/"url":"([^"]*html)"/g)].map(([, url]) => url)).toEqual([
    'copied.html',
    'home.html',
    'index.html',
    'more/page.html',
    'real/page.html',
  ]);
  for (const page of ['../elsewhere/page.html', 'real/page.html'])
    expect(await readFile(join(site, page), 'utf8')).toBe(PAGE);
});

test('a list that is a link, a folder or a pipe stays, and is named', async () => {
  const list = join(site, 'localtext-files.json');
  const own = join(base, 'own.json');
  await writeFile(own, '{"version":1,"files":{}}');
  for (const make of [() => symlink(own, list), () => mkdir(list), async () => makePipe(list)]) {
    await make();
    for (const flags of [[], ['--remove']])
      expect((await init(site, ...flags)).errors).toMatch(
        /files\.json is a link, a folder or a device, and /,
      );
    expect(await readFile(own, 'utf8')).toBe('{"version":1,"files":{}}');
    await rm(list, { recursive: true });
  }
});

const makePipe = (path: string): unknown => execFileSync('mkfifo', [path]);

test.each<[string, (path: string) => unknown]>([
  ['folder', (path) => mkdir(path)],
  ['pipe', makePipe],
])('a %s in place of a manifest or of the offline page is no file', async (_, make) => {
  for (const name of ['manifest.json', 'offline.html']) await make(join(site, name));
  expect(await init(site)).toMatchObject({ status: 0, errors: '' });
  expect((await init(site, '--offline-page', 'offline.html')).errors).toContain('is not one of');
});

test('the error names a page whose name is not UTF-8', async () => {
  await writeFile(Buffer.concat([Buffer.from(`${site}/a`), Buffer.from([0xff]), Buffer.from('.js')]), '');
  expect((await init(site, '--offline')).errors).toMatch(/\.js has a name that is not UTF-8.* Rename it\.$/);
});

test('runs at once remove the same files', async () => {
  await init(site);
  const { replaceMade } = await import('../../../../src/node/made-files.ts');
  const runs = Array.from({ length: 4 }, () => replaceMade(site, new Map()));
  expect(await Promise.all(runs)).toEqual([[], [], [], []]);
  expect(await names()).toEqual(['index.html', 'localtext-files.json']);
});

test.each(['', ' '])('an empty name is refused: "%s"', async (name) => {
  const says = /^localtext init takes the name of a folder; "\." is this one\./;
  const errors = expect.stringMatching(says) as string;
  expect(await init(name)).toMatchObject({ status: 2, errors });
  await writeFile(join(base, 'vite.config.mts'), '');
  for (const folder of [base, join(base, 'nope-dir')])
    expect((await init(folder)).errors).toMatch(/has a vite\.config\. Add localtext\/vite/);
});

test.each(['\u001B[31mred', 'a\u009Bb', 'a\nb', 'a\u202Eb'])(
  'no control character of a name is printed: %j',
  async (name) => {
    const folder = join(base, name);
    const { output } = await init(folder);
    const failed = await init(join(base, 'package/package.json', name));
    expect(output).toContain('Copied');
    expect(failed.status).toBe(1);
    for (const text of [output, failed.errors]) {
      expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
      expect(text).not.toContain(name);
    }
  },
);

test('the steps that are left suit a page, a bundler and an extension, and are told once', async () => {
  expect((await init(site)).output).not.toContain("from 'localtext'");
  expect((await init(site, '--offline')).output).toMatch(/^Copied [^\n]+$/);
  const files = { 'app/package.json': '{}', 'extension/manifest.json': '{"manifest_version": 3}' };
  await fill(base, files);
  const app = await init(join(base, 'app/public'));
  expect(app.output).toMatch(/from 'localtext'[^]*from '\.\/localtext\/localtext\.js'/);
  const extension = await init(join(base, 'extension'));
  expect(extension.output).toMatch(/\n2\. Start it in an offscreen page, [^\n]+$/);
});
