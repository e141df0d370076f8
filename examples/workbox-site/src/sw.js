import { addLocaltext } from 'localtext/sw';
import { cleanupOutdatedCaches, createHandlerBoundToURL, precacheAndRoute } from 'workbox-precaching';
import { NavigationRoute, registerRoute } from 'workbox-routing';
import { StaleWhileRevalidate } from 'workbox-strategies';

// First, so that requests to localtext do not reach the routes below.
addLocaltext();

// The rest is a usual service worker.
cleanupOutdatedCaches();
precacheAndRoute(self.__WB_MANIFEST);
if (self.__WB_MANIFEST.length > 0) {
  registerRoute(new NavigationRoute(createHandlerBoundToURL('index.html')));
}
registerRoute(({ request }) => request.destination === 'image', new StaleWhileRevalidate());
