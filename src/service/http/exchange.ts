import { rateLimited, requestError } from '#base';
import type { EventOf, JobOf, Kind } from '#jobs';
import {
  ABORT_HEADER,
  type Origin,
  type RequestClient,
  type Admitted,
  type ModelDirectory,
  type ModelEntry,
  type ServiceDependencies,
  type StageEvent,
} from '#protocol';
import { RequestTrace } from './request-trace.ts';

/** Tells when the client of one request has left. */
export interface ClientWatch {
  gone: AbortSignal;
  /** Stops watching, once the answer has ended. */
  stop(): void;
}

/** A request as it arrives. */
export interface Arrival {
  /** Unique: jobs and locks are named after it. */
  id: string;
  /** Id sent to the client: its own `x-request-id` if that is valid. */
  requestId: string;
  request: Request;
  /** Unit of fair scheduling; null: unknown. */
  client: RequestClient | null;
  watch: ClientWatch;
  /** Milliseconds since 1970. */
  receivedAt: number;
  trace: RequestTrace;
  /** The models, read once for this request, while its key is checked. */
  models: ModelDirectory;
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;

export function arrive(
  request: Request,
  client: RequestClient | null,
  watch: ClientWatch,
  { log, models }: Pick<ServiceDependencies, 'log' | 'models'>,
): Arrival {
  const id = crypto.randomUUID();
  const header = request.headers.get('x-request-id');
  const requestId = header !== null && REQUEST_ID.test(header) ? header : id;
  const { method, url } = request;
  const trace = new RequestTrace(log, { id, requestId, method, path: new URL(url).pathname, client });
  return {
    id,
    requestId,
    request,
    client,
    watch,
    receivedAt: Date.now(),
    trace,
    models: models.forRequest(),
  };
}

/** Header that limits one request to the device. Its value is `device`. */
const ROUTE_HEADER = 'localtext-route';

/** A request with a valid key, and its answer. */
export interface Exchange extends Arrival {
  admitted: Admitted;
  dependencies: ServiceDependencies;
  /** Aborts all work for the request. */
  abort: AbortController;
  /** Warnings about ignored parts of the request, for the header `localtext-warning`: printable ASCII. */
  warnings: string[];
  /** Stops counting the request as in flight. May be called more than once. */
  leave(): void;
}

export function beginExchange(
  arrival: Arrival,
  admitted: Admitted,
  dependencies: ServiceDependencies,
): Exchange {
  arrival.trace.key(admitted.label);
  const { abort } = followSignals([arrival.watch.gone]);
  return { ...arrival, admitted, dependencies, abort, warnings: [], leave() {} };
}

/**
 * Counts the request as in flight before its body is read: a key's limit bounds such bodies in memory, too.
 * @throws ServiceError 429
 */
export async function enterInFlight(exchange: Exchange): Promise<void> {
  const { admitted, dependencies } = exchange;
  const leave = await dependencies.keys.enter(admitted);
  if (!leave) {
    const rule = `This key's limit of requests in flight is ${admitted.inFlightLimit}. Retry when one ends.`;
    throw rateLimited(rule, 1000);
  }
  exchange.leave = () => {
    exchange.leave = () => {};
    leave();
  };
}

/** @throws ServiceError 400 */
export function checkRoute({ headers }: Request): void {
  const route = headers.get(ROUTE_HEADER);
  if (route === null || route === 'device') return;
  const rule = `The header \`${ROUTE_HEADER}\` must be \`device\`, or absent.`;
  throw requestError(400, rule, 'invalid_value', ROUTE_HEADER);
}

/** Runs a job, limited to the device if the request or its key demands that. @throws ServiceError */
export function runJob<K extends Kind>(
  exchange: Exchange,
  job: JobOf<K>,
  model: ModelEntry,
  isStreamed: boolean,
  id: string,
): AsyncIterable<StageEvent | EventOf<K>> {
  const { admitted, request, dependencies, abort } = exchange;
  const isLimited = admitted.deviceOnly || request.headers.has(ROUTE_HEADER);
  return dependencies.engine.run<K>(
    { ...job, ...(isLimited && { deviceOnly: true }) },
    { id, signal: abort.signal, model, origin: originOf(exchange, isStreamed) },
  );
}

function originOf({ id, client, request: { headers } }: Exchange, isStreamed: boolean): Origin {
  const origin: Origin = { client: client?.id ?? '', request: id };
  if (isStreamed) return origin;
  const background = { ...origin, background: true } as const;
  if (client === null || headers.has(ABORT_HEADER)) return background;
  const attempt = headers.get('x-stainless-retry-count');
  const counts = attempt !== null && /^\d{1,3}$/.test(attempt);
  return { ...background, mayBeRepeated: true, ...(counts && { attempt: Number(attempt) }) };
}

/**
 * Aborts with the first of the signals, until stopped. Chromium keeps a result of `AbortSignal.any`, and all
 * that its listeners hold, while one of the signals may still abort.
 */
export function followSignals(signals: readonly AbortSignal[]): { abort: AbortController; stop(): void } {
  const abort = new AbortController();
  const onAbort = ({ target }: { target: unknown }): void => abort.abort((target as AbortSignal).reason);
  for (const signal of signals) {
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort({ target: signal });
  }
  return {
    abort,
    stop() {
      for (const signal of signals) signal.removeEventListener('abort', onAbort);
    },
  };
}

/**
 * Watches the request's own signal. A page that calls the service itself can abort before the headers; a
 * service worker never sees that.
 */
export function ownSignal({ signal }: Request): ClientWatch {
  const { abort, stop } = followSignals([signal]);
  return { gone: abort.signal, stop };
}
