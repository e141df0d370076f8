import type { EngineClientDependencies } from '../engine-client/ask-engine.ts';
import { handleLocalRoute } from './local-routes.ts';
import { serviceWorkerTransport } from './service-worker-transport.ts';
import { browserService, isV1Path } from './v1.ts';

export { handleMessage } from './messages.ts';

declare const self: ServiceWorkerGlobalScope;

const engine: EngineClientDependencies = {
  transport: serviceWorkerTransport(self.clients),
  locks: navigator.locks,
};
const service = browserService(engine);

/** Whether a fetch is the service's: this origin's `/v1` and all below it. Another origin's is not. */
export const matchV1 = (url: URL): boolean => url.origin === self.location.origin && isV1Path(url);

/**
 * Answers what `matchV1` matched; never rejects for a fault of its own.
 * @example
 * // In a service worker that the site has already:
 * self.addEventListener('fetch', (event) => {
 *   const url = new URL(event.request.url);
 *   if (matchV1(url)) return event.respondWith(handleV1(event.request));
 *   const local = url.origin === location.origin && handleLocalPath(url);
 *   if (local) event.respondWith(local);
 * });
 * self.addEventListener('message', (event) => handleMessage(event));
 */
export const handleV1 = (request: Request): Promise<Response> => service(request);

/** Answers the page library's own paths (loading, status, keep-alive); null for every other path. */
export const handleLocalPath = (url: URL): Promise<Response> | Response | null =>
  handleLocalRoute(url, engine);
