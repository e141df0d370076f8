import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Page } from 'playwright';
import { expect, inject, onTestFinished, test } from 'vitest';

import { launch } from '../../support/launch.ts';
import { freePort } from '../../support/static-site.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { ask, openExample } from '../support/drive.ts';
import { linkModels } from '../support/models.ts';
import { SERVER_SITES, STATIC_SITES, type Site } from '../support/framework-sites.ts';
import { serveFolder } from '../support/plain-server.ts';
import { startServer } from '../support/vite-server.ts';
import { run } from '../support/workspace.ts';

const PLAIN = 'examples/plain-html/public';

/** The page and the script of an example, for a bundler. */
async function appFiles(options: string): Promise<Record<string, string>> {
  const [page, script] = await Promise.all(
    ['index.html', 'app.js'].map((name) => readFile(join(PLAIN, name), 'utf8')),
  );
  const [, body = ''] = /<body>([^]*?)<script/.exec(page ?? '') ?? [];
  const app = (script ?? '')
    .replace('./localtext/localtext.js', 'localtext')
    .replace('./localtext/store.js', 'localtext/store')
    .replace("{ isolation: ['./'] }", options);
  return { 'body.js': `export default ${JSON.stringify(body)};`, 'ask.js': app };
}

/** Writes the site's files, with the app beside those of its pages, installs its packages, and builds it. */
async function create({ packages, files, source, options, build, publicFolder }: Site): Promise<string> {
  const folder = await tempFolder('framework-site');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const app = Object.entries(await appFiles(options)).map(
    ([name, text]) => [`${source}/${name}`, text] as const,
  );
  const offline = [`${publicFolder}/offline.html`, '<!doctype html><title>no network</title>'] as const;
  for (const [path, text] of [...Object.entries(files), ...app, offline]) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const flags = ['--no-audit', '--no-fund', '--loglevel', 'error'];
  await run(folder, 'npm', 'install', ...flags, ...packages, inject('tarball'));
  await linkModels(join(folder, publicFolder));
  for (const command of build) await run(folder, 'npx', ...command.split(' '));
  return folder;
}

async function titleAt(page: Page, url: string): Promise<string> {
  await page.goto(url);
  return page.title();
}

test.each(Object.entries(SERVER_SITES))(
  '%s: its pages work without the server as they were last seen',
  { timeout: 900_000 },
  async (_, site) => {
    const folder = await create(site);
    const port = String(await freePort());
    const serve = () =>
      startServer(folder, site.serve(port), `http://localhost:${port}/`, { ...process.env, PORT: port });
    const server = await serve();
    const context = await launch();
    const { page } = await openExample(context, server.url);
    // A first visit is enough.
    expect(await ask(page)).toMatch(/\w{3}/);
    await server.stop();
    await page.reload();
    expect(await ask(page)).toMatch(/\w{3}/);
    expect(await titleAt(page, `${server.url}about`)).toBe('no network');
    const restarted = await serve();
    expect(await titleAt(page, `${server.url}about`)).toBe('about');
    await restarted.stop();
    expect(await titleAt(page, `${server.url}about`)).toBe('about');
    expect(await titleAt(page, `${server.url}later`)).toBe('no network');
    await page.goto(server.url);
    expect(await ask(page)).toMatch(/\w{3}/);
  },
);

test.each(Object.entries(STATIC_SITES))(
  '%s: all pages of a build work without a network',
  { timeout: 900_000 },
  async (_, site) => {
    const server = await serveFolder(join(await create(site), site.output));
    const { page } = await openExample(await launch(), `${server.url}/`);
    expect(await ask(page)).toMatch(/\w{3}/);
    await server.stop();
    await page.reload();
    expect(await ask(page)).toMatch(/\w{3}/);
    expect(await titleAt(page, `${server.url}/about`)).toBe('about');
  },
);
