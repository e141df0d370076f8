import type { RequestTrace } from './request-trace.ts';
import type { Admitted, ServiceDependencies } from '../service-dependencies.ts';

/** One request that is being answered. */
export interface Call {
  /** Unique: jobs and locks are named after it. */
  id: string;
  /** For the client: its own `x-request-id` where that is valid. */
  requestId: string;
  request: Request;
  /** Aborts when the client is known to have left before the headers. */
  signal: AbortSignal;
  admitted: Admitted;
  /** Milliseconds since 1970. */
  receivedAt: number;
  /** Aborts everything that is done for it. */
  abort: AbortController;
  /** Null: there is no log. */
  trace: RequestTrace | null;
  dependencies: ServiceDependencies;
  /** Fingerprint of the variant that answers, once it is known. */
  servedBy: string | null;
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;

export function requestIdOf(request: Request, id: string): string {
  const given = request.headers.get('x-request-id');
  return given !== null && REQUEST_ID.test(given) ? given : id;
}

/** A page that calls the service itself can abort before the headers; a service worker never sees that. */
export function followSignal(signal: AbortSignal): AbortController {
  const abort = new AbortController();
  if (signal.aborted) abort.abort(signal.reason);
  else signal.addEventListener('abort', () => abort.abort(signal.reason), { once: true });
  return abort;
}
