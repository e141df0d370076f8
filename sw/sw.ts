/// Listeners only. Nothing is kept in memory that a restart would miss: the browser stops this worker at will.
import { addLocaltext } from '../src/service-worker/index.ts';
import { decidesIsolation, isolate } from './isolation.ts';
import { precached, respondFromPrecache } from './precache.ts';

declare const self: ServiceWorkerGlobalScope;

addLocaltext();

/** Registered as `…/localtext-sw.js?isolation=off`, it leaves the site's headers alone. */
const isolates = new URL(self.location.href).searchParams.get('isolation') !== 'off';

self.addEventListener('install', (event) => {
  event.waitUntil(precached.install());
  // The first version may take over at once; a later one would end the streams of the one that is active.
  if (!self.registration.active) event.waitUntil(self.skipWaiting());
});

self.addEventListener('activate', (event) => {
  event.waitUntil(precached.deleteOutdated());
  event.waitUntil(self.clients.claim());
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (url.origin !== self.location.origin) return;

  const kept = respondFromPrecache(request);
  const decides = isolates && decidesIsolation(request);
  if (!kept && !decides) return;
  const response = kept ?? fetch(request);
  event.respondWith(decides ? response.then((answer) => isolate(request, answer)) : response);
});
