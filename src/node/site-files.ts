import { createHash } from 'node:crypto';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';

import type { NetworkFirst, SiteFile } from '#base';
import { marksOf, withMark } from './page-mark.ts';
import { CommandError } from './cli/arguments.ts';
import { shown } from './cli/output.ts';
import { isFallback } from './wasm-files.ts';

/** A site's files, by when its service worker keeps them. */
export interface FileLists {
  /** Files kept before the service worker answers for the first time. */
  shell: SiteFile[];
  /** Files kept when they are first used: a first visit would wait for all of them otherwise. */
  large: SiteFile[];
  /** Bytes of the pictures in `shell`. */
  pictureBytes?: number;
}

export const noFiles = (): FileLists => ({ shell: [], large: [] });

const LARGE = 2 ** 20;
const PICTURE = /\.(png|jpe?g|webp|avif|gif)$/i;
const MAX_PICTURE_BYTES = 5 * 2 ** 20;

/**
 * Adds a file, unless its name or a folder's name begins with a dot, as in `.vite/manifest.json`: hosts do
 * not serve such files.
 * @param hashed whether the name has a hash of the content in it
 */
export function addFile(files: FileLists, url: string, content: string | Uint8Array, hashed = false): void {
  if (/(^|\/)\./.test(url)) return;
  const list = isLarge(files, url, Buffer.byteLength(content)) ? files.large : files.shell;
  const sha256 = createHash('sha256').update(content).digest('hex');
  const marks = isPage(url) ? marksOf(Buffer.from(content).toString()) : [];
  const revision = hashed ? null : sha256.slice(0, 16);
  list.push({ url, revision, sha256, ...(marks.length > 0 && { marks }) });
}

/** Whether a first visit must not wait for the file; the limit for pictures is a total. */
function isLarge(files: FileLists, url: string, bytes: number): boolean {
  if (bytes > LARGE || isFallback(url)) return true;
  if (!PICTURE.test(url)) return false;
  const pictureBytes = (files.pictureBytes ?? 0) + bytes;
  if (pictureBytes > MAX_PICTURE_BYTES) return true;
  files.pictureBytes = pictureBytes;
  return false;
}

/** How the service worker answers pages. Default: from the build's files; network-first if the build has no page. */
export interface PageOptions {
  /** Pages come from the network, and are stored as they are seen. */
  pages?: 'network-first' | undefined;
  /** File shown without a network in place of a page that is not stored. Implies `network-first`. */
  offlinePage?: string | undefined;
}

/**
 * Whether a server renders the pages, and what is shown without it.
 * @param hasPages whether the build, or the folder, has a page
 * @throws Error if the offline page is no file of the lists
 */
export function chooseNetworkFirst(
  { shell, large }: FileLists,
  { pages, offlinePage }: PageOptions,
  hasPages: boolean,
): NetworkFirst | null {
  if (offlinePage === undefined) return pages === 'network-first' || !hasPages ? {} : null;
  const file = [...shell, ...large].find(({ url }) => decodeURIComponent(url) === offlinePage);
  if (!file || !isPage(offlinePage))
    throw new CommandError(
      `The offline page ${JSON.stringify(offlinePage)} is not one of the site's files. Name an *.html file of its public folder, such as offline.html.`,
    );
  return { offlinePage: file.url };
}

export const isPage = (url: string): boolean => /\.html?$/i.test(url);

/** Hosts read these themselves and do not serve them. `_next`, `_app` and the like are folders of a build. */
const UNSERVED = /^(\.|_(headers|redirects|routes\.json|worker\.js)$)/;
/** Names of the files that pages are made of. */
const SHELL = /\.(html?|css|m?js|json|webmanifest|svg|png|jpe?g|webp|avif|gif|ico|woff2?|txt)$/i;
const MAX_BYTES = 5 * 2 ** 20;

export interface FolderOptions {
  skip(path: string): boolean;
  /** Receives the pages that need a mark, with it, by path. Absent: none is marked. */
  marked?: Map<string, Buffer>;
}

/**
 * Adds the files of a folder that make up a site's pages: no weights, nothing hidden, nothing over 5 MiB. Links are
 * followed, as hosts do.
 * @param above the folders that lead to it, without links
 */
export async function addFolder(
  files: FileLists,
  folder: string,
  options: FolderOptions,
  below = '',
  above: readonly string[] = [],
): Promise<void> {
  const real = await realpath(folder).catch(() => null);
  if (real === null || above.includes(real)) return;
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter(({ name }) => !UNSERVED.test(name) && name !== 'node_modules')) {
    const path = join(folder, entry.name);
    const url = below + encodeURIComponent(entry.name);
    if (options.skip(path)) continue;
    if (entry.name.includes('\uFFFD'))
      throw new CommandError(
        `${shown(path)} has a name that is not UTF-8, so that no URL leads to it. Rename it.`,
      );
    const found = await stat(path).catch(() => null);
    if (found?.isDirectory()) await addFolder(files, path, options, `${url}/`, [...above, real]);
    else if (found?.isFile() && found.size <= MAX_BYTES && SHELL.test(entry.name)) {
      addFile(files, url, await contentOf(path, options, above[0] ?? real));
    }
  }
}

/** Reads a file, and marks it if it is a page. One behind a link out of the folder stays as it is. */
async function contentOf(path: string, { marked }: FolderOptions, folder: string): Promise<Buffer> {
  const content = await readFile(path);
  const real = await realpath(path);
  if (!marked || !isPage(path) || !real.startsWith(folder + sep)) return content;
  const page = withMark(real, content);
  if (!page.equals(content)) marked.set(real, page);
  return page;
}

/**
 * Code in front of a service worker: the lists of files, the first also under the name that Workbox's own
 * tools use.
 */
export function prefix({ shell, large }: FileLists, networkFirst: NetworkFirst | null): string {
  const pages = networkFirst && `self.__LOCALTEXT_NETWORK_FIRST__=${JSON.stringify(networkFirst)};`;
  return `self.__WB_MANIFEST=self.__LOCALTEXT_PRECACHE__=${list(shell)};self.__LOCALTEXT_LARGE_FILES__=${list(large)};${pages ?? ''}\n`;
}

/** Script `OWN_FILES`: localtext's own files, for a service worker whose other files another tool keeps. */
export const ownFilesScript = ({ shell, large }: FileLists): string =>
  `self.__LOCALTEXT_SMALL_FILES__=${list(shell)};self.__LOCALTEXT_LARGE_FILES__=${list(large)};\n`;

const list = (files: SiteFile[]): string =>
  JSON.stringify(files.toSorted((a, b) => (a.url < b.url ? -1 : 1)));
