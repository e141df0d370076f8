import { PrecacheController } from 'workbox-precaching/PrecacheController.js';

/** The files of this build, `{url, revision}` each; the build puts them here. */
declare const __LOCALTEXT_PRECACHE__: { url: string; revision: string | null }[] | undefined;

const controller = new PrecacheController();
controller.addToCacheList(typeof __LOCALTEXT_PRECACHE__ === 'undefined' ? [] : __LOCALTEXT_PRECACHE__);

export const precache = {
  install: (event: ExtendableEvent) => controller.install(event),
  activate: (event: ExtendableEvent) => controller.activate(event),

  /** The URL under which a file of this build was kept, if this request is for one. */
  keyFor(request: Request): string | null {
    if (request.method !== 'GET') return null;
    const url = new URL(request.url);
    url.hash = '';
    if (request.mode === 'navigate') {
      url.search = '';
      if (url.pathname.endsWith('/')) url.pathname += 'index.html';
    }
    return controller.getCacheKeyForURL(url.href) ? url.href : null;
  },

  /** From the cache; from the network where the browser has dropped it. */
  async respond(key: string, request: Request): Promise<Response> {
    return (await controller.matchPrecache(key)) ?? fetch(request);
  },
};
