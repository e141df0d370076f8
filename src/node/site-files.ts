import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One file of the site, as Workbox lists them: a null revision where the name itself has a hash. */
export interface SiteFile {
  /** Relative to the service worker's script. */
  url: string;
  revision: string | null;
}

/** @param source null where the file's name has a hash. */
export function siteFile(url: string, source: string | Uint8Array | null): SiteFile {
  const revision = source === null ? null : createHash('sha256').update(source).digest('hex').slice(0, 16);
  return { url, revision };
}

/** What a page is made of; a host may use, and not serve, `_headers` and the like. */
const SHELL = /\.(html?|css|m?js|json|webmanifest|svg|png|jpe?g|webp|avif|gif|ico|woff2?|txt)$/i;
const LARGEST = 5 * 2 ** 20;

/** The files of a folder that make up a site's pages: no weights, nothing hidden, nothing over 5 MiB. */
export async function shellFiles(folder: string, skip: (path: string) => boolean): Promise<SiteFile[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries
      .filter(({ name }) => !/^[._]/.test(name) && name !== 'node_modules')
      .map(async (entry): Promise<SiteFile[]> => {
        const path = join(folder, entry.name);
        if (skip(path)) return [];
        if (entry.isDirectory()) {
          const below = await shellFiles(path, skip);
          return below.map(({ url, revision }) => ({
            url: `${encodeURIComponent(entry.name)}/${url}`,
            revision,
          }));
        }
        if (!entry.isFile() || !SHELL.test(entry.name)) return [];
        const source = await readFile(path);
        return source.length > LARGEST ? [] : [siteFile(encodeURIComponent(entry.name), source)];
      }),
  );
  return found.flat();
}

const isLarge = ({ url }: SiteFile): boolean => url.endsWith('.wasm');

/**
 * What goes in front of a service worker: the files it keeps from the start, also under the name that Workbox's own
 * tools use, and those it keeps when they are first used.
 */
export function prefix(files: readonly SiteFile[]): string {
  const sorted = files.toSorted((a, b) => (a.url < b.url ? -1 : 1));
  const shell = JSON.stringify(sorted.filter((file) => !isLarge(file)));
  const large = JSON.stringify(sorted.filter(isLarge));
  return `self.__WB_MANIFEST=self.__LOCALTEXT_PRECACHE__=${shell};self.__LOCALTEXT_LARGE_FILES__=${large};\n`;
}
