import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

import { rolldown } from 'rolldown';
import { inject } from 'vitest';

import { removalScripts } from '../../src/node/cli/init/remove-site.ts';
import type { AlteredSite } from './altered-site.ts';

export const PAGE = '/lifetime-page.html';

const html = { 'content-type': 'text/html' };
export const answerPage = (answer: ServerResponse, text: string): void =>
  void answer.writeHead(200, html).end(`<!doctype html><title>${text}</title>`);

/** Deploys a build that differs from the earlier ones in its page and in its service worker. */
export async function deployBuild(site: AlteredSite, build: string): Promise<void> {
  const page = await (await fetch(inject('siteUrl') + PAGE)).text();
  const titled = (text: string): string => `${text.replace(/<title>[^<]*/, `<title>${build}`)}</html>`;
  const sha256 = createHash('sha256').update(titled(page)).digest('hex');
  const marks = [`<title>${build}`, '</html>'];
  const entry = JSON.stringify({ url: PAGE.slice(1), revision: build, sha256, marks });
  site.files.set(PAGE, titled);
  site.files.set('/localtext-sw.js', (text) => text.replace(/\{"url":"lifetime-page\.html"[^}]*\}/, entry));
}

/**
 * Serves another build of the page, whose scripts are altered and have other URLs. Returns its path.
 * @param alter given each script's text
 */
export async function deployBeside(site: AlteredSite, alter: (script: string) => string): Promise<string> {
  const folder = '/assets-beside/';
  const path = '/page-beside.html';
  const page = await (await fetch(site.url + PAGE)).text();
  const headers = { 'content-type': 'text/javascript' };
  site.handlers.set(path, (_, answer) => answer.writeHead(200, html).end(page.replace('./assets/', folder)));
  for (const name of await readdir('dist/test-site/assets'))
    site.handlers.set(folder + name, (_, answer) => {
      const script = readFileSync(`dist/test-site/assets/${name}`, 'utf8');
      answer.writeHead(200, headers).end(alter(script));
    });
  return path;
}

/** What a host has answered in place of the page of `second`, where `first` is the build before. */
export const WRONG_PAGES: readonly ((answer: ServerResponse) => void)[] = [
  (answer) => answer.writeHead(302, { location: '/sign-in' }).end(),
  (answer) => answerPage(answer, 'Log in'),
  (answer) => answerPage(answer, 'first'),
  (answer) => answer.writeHead(404).end('not found'),
  (answer) => answer.writeHead(503).end('try again'),
  (answer) => answer.writeHead(200, html).end(),
  (answer) => answer.writeHead(200, html).end('<!doctype html><title>second</title><bod'),
  (answer) =>
    answer.writeHead(200, { ...html, 'content-length': 1000 }).write('<title>second', () => answer.destroy()),
  (answer) => answer.writeHead(206, { ...html, 'content-range': 'bytes 0-6/9' }).end('<title>'),
  (answer) =>
    answer.writeHead(200, { ...html, 'content-encoding': 'gzip' }).end(gzipSync('<title>Log in</title>')),
  (answer) => answer.writeHead(200, { 'content-type': 'application/json' }).end('{"error":"maintenance"}'),
];

/** Runs in a page: has the browser look for a new version. @returns whether one was found, and could be installed */
export async function lookForUpdate(): Promise<boolean> {
  const registration = await navigator.serviceWorker.ready;
  await registration.update();
  const { installing } = registration;
  if (installing?.state === 'installing')
    await new Promise((resolve) => installing.addEventListener('statechange', resolve, { once: true }));
  return registration.waiting !== null;
}

/**
 * Deploys the site without localtext.
 * @param worker path of its service worker
 */
export async function deployRemoval(
  site: AlteredSite,
  what: 'caches' | 'all',
  page = '<!doctype html><title>without</title>',
  worker = '/localtext-sw.js',
): Promise<void> {
  const bundle = await rolldown({ input: 'sw/remove.ts', platform: 'browser' });
  const [{ code }] = (await bundle.generate({ format: 'iife' })).output;
  const scripts = removalScripts(code, what);
  for (const [name, text] of Object.entries(scripts)) site.files.set(`/${name}`, () => text);
  site.files.set(worker, () => scripts['localtext-sw.js'] ?? '');
  site.files.set(PAGE, () => page);
}

/** Runs in a page: what the visitor's browser has of localtext. */
export async function leftInBrowser(): Promise<{
  workers: number;
  files: number;
  databases: string[];
  weights: boolean;
}> {
  const names = await caches.keys();
  // WebKit's automated windows have no such folder, nor the object that it is asked of.
  const openFolder = async () => (await navigator.storage.getDirectory()).getDirectoryHandle('localtext');
  const folder = await openFolder().catch(() => null);
  return {
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    files: names.filter((name) => /^localtext-(?!weights$)/.test(name)).length,
    databases: (await indexedDB.databases()).flatMap(({ name }) =>
      name?.startsWith('localtext') ? name : [],
    ),
    weights: folder !== null || names.includes('localtext-weights'),
  };
}
