/// Listeners only. No state is kept in memory: the browser stops this worker at any time.
import { addLocaltext } from '#service-worker';
import type { SiteFile } from '#base';
import { decidesIsolation, isolate } from './isolation.ts';

declare const self: ServiceWorkerGlobalScope & {
  /** The files of this build, put before the script by the Vite plugin and by `localtext init`. */
  __LOCALTEXT_PRECACHE__?: readonly SiteFile[];
};

/** Registered as `…/localtext-sw.js?isolation=off`, it leaves the site's headers alone. */
const isolates = new URL(self.location.href).searchParams.get('isolation') !== 'off';

addLocaltext(self.__LOCALTEXT_PRECACHE__ ?? [], (request, kept) =>
  isolates && decidesIsolation(request)
    ? (kept ?? fetch(request)).then((response) => isolate(request, response))
    : kept,
);

self.addEventListener('install', (event) => {
  // The first version may take over at once; a later one would end the streams of the active one.
  if (!self.registration.active) event.waitUntil(self.skipWaiting());
});

self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
