/// Listeners only. What is in memory may be lost: the browser stops this worker at any time.
import { addLocaltext, serverPages, type BuildFiles } from '#service-worker';
import type { NetworkFirst, SiteFile } from '#base';
import type { PageToServiceWorker } from '#protocol';
import { concernsIsolation, isolate } from './isolation.ts';
import { clearSeenPages, seenPages } from './seen-pages.ts';

/** The globals are put before the script by the Vite plugin and by `localtext init`. */
declare const self: ServiceWorkerGlobalScope & {
  /** The files of this build. */
  __LOCALTEXT_PRECACHE__?: readonly SiteFile[];
  /** Absent: pages come from the files of this build. */
  __LOCALTEXT_NETWORK_FIRST__?: NetworkFirst;
};

const { __LOCALTEXT_PRECACHE__: listed = [], __LOCALTEXT_NETWORK_FIRST__: networkFirst } = self;

const files: BuildFiles = addLocaltext(listed, (event, ofBuild) => {
  const { request } = event;
  const answer = seen ? seen.respond(event) : ofBuild(request);
  return concernsIsolation(request)
    ? (answer ?? fetch(request)).then((response) => isolate(event, response))
    : answer;
});

const seen = networkFirst && seenPages(networkFirst, files, (id, response) => serverPages.add(id, response));

self.addEventListener('install', (event) => {
  // The first version may take over at once; a later one would end the streams of the active one.
  if (!self.registration.active) event.waitUntil(self.skipWaiting());
});

self.addEventListener('activate', (event) =>
  event.waitUntil(Promise.all([clearSeenPages(), self.clients.claim()])),
);

self.addEventListener('message', (event) => {
  const message = event.data as PageToServiceWorker | null;
  if (seen && message?.type === 'localtext:loaded')
    event.waitUntil(seen.addLoaded(message.page, message.parts));
});
