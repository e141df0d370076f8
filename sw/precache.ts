import { SiteFiles, type SiteFile } from '../src/service-worker/site-files.ts';

/** The files of this build, put before the script by the Vite plugin and by `localtext init`. */
declare const __LOCALTEXT_PRECACHE__: readonly SiteFile[] | undefined;

/** The site's own files, available without a network too. */
export const precached = new SiteFiles(
  'localtext-precache',
  typeof __LOCALTEXT_PRECACHE__ === 'undefined' ? [] : __LOCALTEXT_PRECACHE__,
);

/** Answers from the precache; null when the request is for none of its files. */
export function respondFromPrecache(request: Request): Promise<Response> | null {
  if (request.method !== 'GET') return null;
  const url = new URL(request.url);
  url.hash = '';
  if (request.mode === 'navigate') {
    url.search = '';
    if (url.pathname.endsWith('/')) url.pathname += 'index.html';
  }
  return precached.has(url.href) ? precached.respond(request, url.href) : null;
}
