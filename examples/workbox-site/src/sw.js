import { addLocaltext } from 'localtext/sw';
import { cleanupOutdatedCaches, createHandlerBoundToURL, precacheAndRoute } from 'workbox-precaching';
import { NavigationRoute, registerRoute } from 'workbox-routing';
import { StaleWhileRevalidate } from 'workbox-strategies';

// First: what localtext answers, no route below sees.
addLocaltext();

// From here on it is a site's worker like any other.
cleanupOutdatedCaches();
precacheAndRoute(self.__WB_MANIFEST);
if (self.__WB_MANIFEST.length > 0) {
  registerRoute(new NavigationRoute(createHandlerBoundToURL('index.html')));
}
registerRoute(({ request }) => request.destination === 'image', new StaleWhileRevalidate());
