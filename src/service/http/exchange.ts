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
  const trace = new RequestTrace(log, { id: requestId, method, path: new URL(url).pathname, client });
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
export class Exchange {
  readonly id: string;
  readonly requestId: string;
  readonly request: Request;
  readonly watch: ClientWatch;
  readonly receivedAt: number;
  readonly trace: RequestTrace;
  readonly admitted: Admitted;
  readonly dependencies: ServiceDependencies;
  readonly models: ModelDirectory;
  /** Aborts all work for the request. */
  readonly abort: AbortController;
  /** Warnings about ignored parts of the request, for the header `localtext-warning`: printable ASCII. */
  readonly warnings: string[] = [];
  readonly #client: RequestClient | null;
  #leave = (): void => {};
  #continues = false;

  constructor(arrival: Arrival, admitted: Admitted, dependencies: ServiceDependencies) {
    const { id, requestId, request, client, watch, receivedAt, trace, models } = arrival;
    this.id = id;
    this.requestId = requestId;
    this.request = request;
    this.watch = watch;
    this.receivedAt = receivedAt;
    this.trace = trace;
    this.admitted = admitted;
    this.dependencies = dependencies;
    this.models = models;
    this.abort = followSignals([watch.gone]).abort;
    this.#client = client;
    trace.key(admitted.label);
  }

  /**
   * Counts the request as in flight before its body is read: a key's limit bounds such bodies in memory, too.
   * @throws ServiceError 429
   */
  async enterInFlight(): Promise<void> {
    const { admitted, dependencies, id } = this;
    const leave = await dependencies.keys.enter(admitted, id);
    if (leave) {
      this.#leave = leave;
      return;
    }
    const rule = `This key's limit of requests in flight is ${admitted.inFlightLimit}. Retry when one ends.`;
    throw rateLimited(rule, 1000);
  }

  /** The answer continues after its headers, and stops the watch at its end. */
  continues(streamed: boolean): void {
    this.#continues = true;
    this.trace.continues(streamed);
  }

  /** The headers are sent. */
  answered(status: number): void {
    this.trace.headers(status);
    if (!this.#continues) this.watch.stop();
  }

  /** Stops counting the request as in flight. May be called more than once. */
  leave(): void {
    this.#leave();
    this.#leave = () => {};
  }

  /** @throws ServiceError 400 */
  checkRoute(): void {
    const route = this.request.headers.get(ROUTE_HEADER);
    if (route === null || route === 'device') return;
    const rule = `The header \`${ROUTE_HEADER}\` must be \`device\`, or absent.`;
    throw requestError(400, rule, 'invalid_value', ROUTE_HEADER);
  }

  /** Runs a job, limited to the device if the request or its key demands that. @throws ServiceError */
  run<K extends Kind>(
    job: JobOf<K>,
    model: ModelEntry,
    isStreamed: boolean,
    id = this.id,
  ): AsyncIterable<StageEvent | EventOf<K>> {
    const isLimited = this.admitted.deviceOnly || this.request.headers.has(ROUTE_HEADER);
    return this.dependencies.engine.run<K>(
      { ...job, ...(isLimited && { deviceOnly: true }) },
      { id, signal: this.abort.signal, model, origin: this.#origin(isStreamed) },
    );
  }

  #origin(isStreamed: boolean): Origin {
    const { headers } = this.request;
    const origin: Origin = { client: this.#client?.id ?? '', request: this.id };
    if (isStreamed) return origin;
    const background = { ...origin, background: true } as const;
    if (this.#client === null || headers.has(ABORT_HEADER)) return background;
    const attempt = headers.get('x-stainless-retry-count');
    const counts = attempt !== null && /^\d{1,3}$/.test(attempt);
    return { ...background, mayBeRepeated: true, ...(counts && { attempt: Number(attempt) }) };
  }
}

/**
 * Aborts with the first of the signals, until stopped. Chromium keeps a result of `AbortSignal.any`, and all
 * that its listeners hold, while one of the signals may still abort.
 */
export function followSignals(
  signals: readonly AbortSignal[],
  abort = new AbortController(),
): { abort: AbortController; stop(): void } {
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
