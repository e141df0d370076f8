import { PrecacheController } from 'workbox-precaching/PrecacheController.js';

/** The files of this build, put before the script by the Vite plugin and by `localtext init`. */
declare const __LOCALTEXT_PRECACHE__: { url: string; revision: string | null }[] | undefined;

const controller = new PrecacheController();
controller.addToCacheList(typeof __LOCALTEXT_PRECACHE__ === 'undefined' ? [] : __LOCALTEXT_PRECACHE__);

/** The site's own files, there without a network too. */
export const precache = {
  install: (event: ExtendableEvent) => controller.install(event),
  activate: (event: ExtendableEvent) => controller.activate(event),

  /** Null when the request is for none of them. */
  respond(request: Request): Promise<Response> | null {
    if (request.method !== 'GET') return null;
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
