/// Listeners only. Nothing is kept in memory that a restart would miss: the browser stops this worker at will.
import { addLocaltext } from '../src/service-worker/index.ts';
import { decidesIsolation, isolate } from './isolation.ts';
import { precached, respondFromPrecache } from './precache.ts';

declare const self: ServiceWorkerGlobalScope;

/** Registered as `…/localtext-sw.js?isolation=off`, it leaves the site's headers alone. */
const isolates = new URL(self.location.href).searchParams.get('isolation') !== 'off';
const decides = (request: Request): boolean => isolates && decidesIsolation(request);

const finish = async (request: Request, response: Response): Promise<Response> =>
  decides(request) ? isolate(request, response) : response;

addLocaltext(finish);

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
  const kept = respondFromPrecache(request);
  if (kept || decides(request))
    event.respondWith((kept ?? fetch(request)).then((response) => finish(request, response)));
});
