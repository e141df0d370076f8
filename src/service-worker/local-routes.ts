import {
  LINES_TYPE,
  LOAD_PATH,
  STATUS_PATH,
  KEEP_ALIVE_PATH,
  MAX_NAME_LENGTH,
  PROTOCOL_HEADER,
  PROTOCOL_VERSION,
  leaderLock,
  queryLocks,
  scopeOf,
  type LoadLine,
} from '#protocol';
import { EventStream, type ClientWatch } from '#service';
import { asServiceError, invalidField, protocolMismatch, requestError, ServiceError } from '#base';
import type { V1 } from '#routing';

declare const self: ServiceWorkerGlobalScope;

/** Time limit for an engine's status, in milliseconds. */
const STATUS_DEADLINE_MS = 5000;

/** Answers a path of the page library: one for which `isLocalPath` is true. @param watch watches the page that asks */
export async function handleLocalRoute(request: Request, v1: LocalV1, watch: Watch): Promise<Response> {
  const url = new URL(request.url);
  const route = ROUTES.get(url.pathname);
  try {
    if (!route) throw requestError(404, `Unknown path ${url.pathname.slice(0, 200)}.`);
    requirePageLibrary(request, url, route.allow);
    return await route.answer(url, v1, watch);
  } catch (error) {
    return asServiceError(error).toResponse();
  }
}

/**
 * 204 while no engine answers, as after a start: browsers would log a status of 500 as an error of the page.
 */
async function answerStatus(v1: LocalV1): Promise<Response> {
  const status = await v1.status(STATUS_DEADLINE_MS);
  return status ? Response.json(status) : new Response(null, { status: 204 });
}

function streamLoad(url: URL, v1: LocalV1, watch: Watch): Response {
  const model = readModel(url);
  const cancelled = new AbortController();
  const stream = new EventStream(() => cancelled.abort());
  const { gone, stop } = watch([cancelled.signal]);
  // A page that comes back from the back/forward cache, or is no longer frozen, asks again if its answer ends without an
  // error.
  const write = (line: LoadLine): void => {
    if (!gone.aborted) stream.send(`${JSON.stringify(line)}\n`);
  };
  void v1
    .load(model, { signal: gone, onProgress: (progress) => write({ type: 'progress', progress }) })
    .then(() => write({ type: 'loaded' }))
    .catch(async (error: unknown) => {
      const { wire } = asServiceError(error);
      if (wire.code !== 'engine_unavailable' || (await isLed())) write({ type: 'error', error: wire });
    })
    .finally(() => {
      stop();
      stream.end();
    });
  return new Response(stream.body, { headers: { 'content-type': LINES_TYPE, 'cache-control': 'no-store' } });
}

/** Whether a tab leads. A page that asks leads or queues for it, unless it is frozen. */
async function isLed(): Promise<boolean> {
  const { held = [] } = await queryLocks(navigator.locks);
  return held.some(({ name }) => name === leaderLock(scopeOf(self.registration.scope)));
}

type LocalV1 = Pick<V1, 'load' | 'status'>;
type Watch = (signals: AbortSignal[]) => ClientWatch;

interface Route {
  /** The only allowed method. */
  allow: string;
  answer(url: URL, v1: LocalV1, watch: Watch): Response | Promise<Response>;
}

/** The page library's paths. */
const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  [KEEP_ALIVE_PATH, { allow: 'GET', answer: () => new Response(null, { status: 204 }) }],
  [LOAD_PATH, { allow: 'POST', answer: streamLoad }],
  [STATUS_PATH, { allow: 'GET', answer: (_, v1) => answerStatus(v1) }],
]);

export const isLocalPath = ({ pathname }: URL): boolean => ROUTES.has(pathname);

/**
 * Refuses requests of other senders. Other sites can navigate here and post forms here with any method, body
 * and form content type, but they cannot set a header. Elements such as `<img>` in this site's own pages
 * cannot either.
 * @throws ServiceError 403, 405, or 400 `protocol_mismatch`, for a request that the page library did not send
 */
function requirePageLibrary(request: Request, { pathname }: URL, allow: string): void {
  const version = request.headers.get(PROTOCOL_HEADER);
  if (request.mode === 'navigate' || request.destination !== '' || version === null) {
    const message = `${pathname} answers only the localtext page library. Use the handle of start().`;
    throw requestError(403, message);
  }
  if (request.method !== allow) {
    const message = `${request.method} is not possible at ${pathname}. Use ${allow}.`;
    throw requestError(405, message, null, null, { allow });
  }
  if (version !== String(PROTOCOL_VERSION))
    throw new ServiceError({ ...protocolMismatch().wire, status: 400 });
}

/** @throws ServiceError 400 */
function readModel(url: URL): string {
  const name = url.searchParams.get('model') ?? '';
  if (name !== '' && name.length <= MAX_NAME_LENGTH) return name;
  throw invalidField('model', `must have 1 to ${MAX_NAME_LENGTH} characters`);
}
