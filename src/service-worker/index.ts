/**
 * Library of a site's own service worker.
 * @module localtext/sw
 */

import { serverError, isV1Path, type SiteFile } from '#base';
import { linked, type EngineConnection, type Ways } from '#link';
import {
  ABORT_HEADER,
  pausePages,
  scopeOf,
  PROTOCOL_VERSION,
  type NeedEngine,
  type PageToServiceWorker,
  type ServiceWorkerReply,
} from '#protocol';
import { Copies } from '#database';
import { browserV1 } from '#routing';
import { handleLocalRoute, isLocalPath } from './local-routes.ts';
import { ServerPages } from './server-pages.ts';
import { ownFiles } from './site-files.ts';
import { asksForWeights, respondStored } from './stored-weights.ts';
import { watchClient, watchLimit } from './watch-client.ts';

declare const self: ServiceWorkerGlobalScope;
/** The URL of a request, or the object with a URL that Workbox passes to its routes. */
export type Addressed = URL | { url: URL };
export type Requested = Request | FetchEvent | { request: Request; event?: ExtendableEvent };

/** Answers from the files of the build. Undefined: it has no such file. `isOffline`: the network has not answered. */
export type BuildFiles = (request: Request, isOffline?: boolean) => Promise<Response> | undefined;

/** Chooses the answer to a request for a file of the site. Undefined: the browser asks the network. */
type Finish = (event: FetchEvent, files: BuildFiles) => Promise<Response> | undefined;

const scope = scopeOf(self.registration.scope);
const needEngine: NeedEngine = { type: 'localtext:need-engine', version: PROTOCOL_VERSION, scope };
const engine: EngineConnection = {
  scope,
  transport: linked({ offer: askWindows }, scope, navigator.locks),
  locks: navigator.locks,
};
const v1 = browserV1(engine, new Copies(scope, navigator.locks));
// It starts for a request, which arrives later. A new version must not take the copies from the one that answers.
if (self.serviceWorker?.state === 'activated') void v1.readAhead();

/**
 * Asks every window of the origin, also those that this service worker does not control: one of them leads.
 * If it does not pass the port on, its worker is called.
 */
async function askWindows(ways: Ways, again: boolean, isLost: boolean): Promise<void> {
  if (again) ways.openDirect();
  const windows = await self.clients.matchAll({ includeUncontrolled: true });
  for (const client of windows) client.postMessage({ ...needEngine, isLost }, [ways.openPort()]);
}

/**
 * Whether a request is localtext's: this origin's `/v1` and all below it, and the page library's own paths
 * (loading, status, keep-alive). Another origin's is not.
 * @param target a URL, or what Workbox gives a route's match callback
 */
export function matchV1(target: Addressed): boolean {
  const url = target instanceof URL ? target : target.url;
  return url.origin === self.location.origin && (isV1Path(url.pathname) || isLocalPath(url));
}

/**
 * Answers a request that `matchV1` matched. Never rejects: an internal error becomes an answer.
 * @param target the event, what Workbox gives a route's handler, or a Request alone: the request log then cannot
 *   tell who sent it
 * @example
 * // A Workbox route has one method:
 * for (const method of ['GET', 'POST', 'DELETE'] as const) registerRoute(matchV1, handleV1, method);
 */
export async function handleV1(target: Requested): Promise<Response> {
  const asked: Exclude<Requested, Request> = target instanceof Request ? { request: target } : target;
  const { request } = asked;
  const { clientId = '' } = (('event' in asked && asked.event) || asked) as Partial<FetchEvent>;
  const watchUntil = (signals: AbortSignal[]) => watchClient(self.clients, clientId, signals);
  if (!isV1Path(new URL(request.url).pathname)) return handleLocalRoute(request, v1, watchUntil);
  const id = request.headers.get(ABORT_HEADER);
  const limit = watchLimit(request);
  const signals = [request.signal, limit.gone, ...(id === null ? [] : [abortOf(id).signal])];
  const client = clientId ? { id: clientId, url: request.referrer } : null;
  const watch = watchUntil(signals);
  try {
    return await v1.service(request, client, watch);
  } catch (error) {
    if (!watch.gone.aborted) throw error;
    // Nobody waits for it. Chromium logs a rejection, and keeps 1,000 of them with their reasons.
    return new Response(null, { status: CLIENT_LEFT });
  } finally {
    limit.stop();
    // Once the headers are sent, the browser itself reports an abort.
    if (id !== null) aborts.delete(id);
  }
}

/** "Request Timeout": OpenAI's client retries it, if its own timer is late, as in a hidden tab. */
const CLIENT_LEFT = 408;

/** Abort controllers by the `ABORT_HEADER` of their request. */
const aborts = new Map<string, AbortController>();

function abortOf(id: string): AbortController {
  const abort = aborts.get(id) ?? new AbortController();
  aborts.set(id, abort);
  return abort;
}

/** How long an abort is kept for a request that arrives after it, in milliseconds. */
const LATE_REQUEST_MS = 10_000;

/**
 * Adds localtext to the site's own service worker. Call it first: later listeners do not see what it answers.
 * It keeps localtext's own files for use without a network, and answers `models/` from the stored weights.
 * The site controls updates. This takes control of a page only when the page library asks.
 * @example
 * import { addLocaltext } from 'localtext/sw';
 * addLocaltext();
 * precacheAndRoute(self.__WB_MANIFEST);
 */
export function addLocaltext(): void;
/** @internal */
export function addLocaltext(site: readonly SiteFile[], finish: Finish): BuildFiles;
export function addLocaltext(
  site?: readonly SiteFile[],
  finish: Finish = ({ request }, files) => files(request),
): BuildFiles {
  self.addEventListener('message', (event) => {
    if (handleMessage(event)) event.stopImmediatePropagation();
  });
  const { small, large } = ownFiles(site);
  const files: BuildFiles = (...request) => small.respond(...request) ?? large.respond(...request);
  self.addEventListener('install', (event) => event.waitUntil(small.install()));
  self.addEventListener('activate', (event) => {
    event.waitUntil(Promise.all([small.deleteOutdated(), large.deleteOutdated()]));
  });
  self.addEventListener('fetch', (event) => {
    const { request } = event;
    const answer = matchV1(new URL(request.url))
      ? handleV1(event)
      : asksForWeights(request)
        ? respondStored(request)
        : finish(event, files);
    if (!answer) return;
    event.stopImmediatePropagation();
    event.respondWith(answer);
  });
  return files;
}

/** @internal */
export const serverPages = new ServerPages();

const version = PROTOCOL_VERSION;
const ok: ServiceWorkerReply = { type: 'ok', version };

/** Answers the page library's messages, each on its port. False: not one of its messages. */
export function handleMessage(event: ExtendableMessageEvent): boolean {
  const message = event.data as PageToServiceWorker | null;
  const [port] = event.ports;
  if (message?.type === 'localtext:abort') {
    const { id } = message;
    abortOf(id).abort(new DOMException('The client has aborted the request.', 'AbortError'));
    setTimeout(() => aborts.delete(id), LATE_REQUEST_MS);
    return true;
  }
  if (!port || typeof message !== 'object' || message === null) return false;
  const reply = async (work: Promise<ServiceWorkerReply>): Promise<void> => port.postMessage(await work);
  switch (message.type) {
    case 'localtext:claim':
      event.waitUntil(reply(self.clients.claim().then(() => ok)));
      return true;
    case 'localtext:version':
      port.postMessage({ ...ok, fromServer: serverPages.take((event.source as Client | null)?.id ?? '') });
      return true;
    case 'localtext:skip-waiting':
      event.waitUntil(reply(takeOver()));
      return true;
    default:
      return false;
  }
}

/** Lets this version take over, unless a request runs: taking over ends the streams of the old version. */
async function takeOver(): Promise<ServiceWorkerReply> {
  if (!(await pausePages(navigator.locks, scope))) {
    const { wire } = serverError('requests_running', 'A request is running. Try again when it has ended.');
    return { type: 'error', version, error: wire };
  }
  // Not awaited: Chromium settles it only when the old version has stopped, which takes up to 5 minutes.
  void self.skipWaiting();
  return ok;
}
