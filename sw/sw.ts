/// Listeners only. No state is kept in memory: the browser stops this worker at any time.
import { addLocaltext } from '#service-worker';
import type { SiteFile } from '#base';
import { concernsIsolation, isolate } from './isolation.ts';

declare const self: ServiceWorkerGlobalScope & {
  /** The files of this build, put before the script by the Vite plugin and by `localtext init`. */
  __LOCALTEXT_PRECACHE__?: readonly SiteFile[];
};

addLocaltext(self.__LOCALTEXT_PRECACHE__ ?? [], (event, kept) =>
  concernsIsolation(event.request)
    ? (kept ?? fetch(event.request)).then((response) => isolate(event, response))
    : kept,
);

self.addEventListener('install', (event) => {
  // The first version may take over at once; a later one would end the streams of the active one.
  if (!self.registration.active) event.waitUntil(self.skipWaiting());
});

self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
