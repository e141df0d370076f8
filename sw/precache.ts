import { PrecacheController } from 'workbox-precaching/PrecacheController.js';
import { largeFiles } from './large-files.ts';

declare const self: ServiceWorkerGlobalScope;

/** The files of this build; the build puts them here. */
declare const __LOCALTEXT_PRECACHE__: { url: string; revision: string | null }[] | undefined;

const entries = typeof __LOCALTEXT_PRECACHE__ === 'undefined' ? [] : __LOCALTEXT_PRECACHE__;
const isLarge = ({ url }: { url: string }): boolean => url.endsWith('.wasm');

const controller = new PrecacheController();
controller.addToCacheList(entries.filter((entry) => !isLarge(entry)));
const large = largeFiles(entries.filter(isLarge), self.location.href);

/** The site's own files, there without a network too. */
export const precache = {
  install: (event: ExtendableEvent) => controller.install(event),
  activate: (event: ExtendableEvent) => Promise.all([controller.activate(event), large.tidy()]),

  /** Null when the request is for none of them. */
  respond(request: Request): Promise<Response> | null {
    if (request.method !== 'GET') return null;
    if (large.has(request.url)) return large.respond(request);
    const url = new URL(request.url);
    url.hash = '';
    if (request.mode === 'navigate') {
      url.search = '';
      if (url.pathname.endsWith('/')) url.pathname += 'index.html';
    }
    if (!controller.getCacheKeyForURL(url.href)) return null;
    // The browser may have dropped it.
    return controller.matchPrecache(url.href).then((kept) => kept ?? fetch(request));
  },
};
