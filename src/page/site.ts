import { scopeOf } from '#protocol';

/** Paths of the site, defined by the Vite plugin, or when the files for sites without a bundler are built. */
declare const __LOCALTEXT_BASE__: string | undefined;
declare const __LOCALTEXT_SERVICE_WORKER__: string | undefined;
declare const __LOCALTEXT_ISOLATION__: readonly string[] | undefined;

/** Folder of the site's own files: an absolute path, a URL, or relative to the page. Ends with a slash. */
export const siteBase: string = typeof __LOCALTEXT_BASE__ === 'undefined' ? '/' : __LOCALTEXT_BASE__;

/** Name of the service worker's file, below the base. */
export const serviceWorkerName: string =
  typeof __LOCALTEXT_SERVICE_WORKER__ === 'undefined' ? 'localtext-sw.js' : __LOCALTEXT_SERVICE_WORKER__;

/** Paths of pages that the service worker isolates. */
export const siteIsolation: readonly string[] =
  typeof __LOCALTEXT_ISOLATION__ === 'undefined' ? [] : __LOCALTEXT_ISOLATION__;

/**
 * Scope of the app at the site's base. It is `/` if the site's files come from another origin, because its
 * path is unknown then.
 */
export function siteScope(): string {
  const { origin, href } = new URL(siteBase, document.baseURI);
  return origin === globalThis.origin ? scopeOf(href) : '/';
}
