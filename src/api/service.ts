import type { RequestClient } from '../protocol/request-log.ts';
import { authenticate } from './http/authentication.ts';
import { engineFor } from './http/device-only.ts';
import { followSignal, requestIdOf, type Call } from './http/call.ts';
import { RequestTrace } from './http/request-trace.ts';
import { addCommonHeaders } from './http/response-headers.ts';
import { findRoute } from './routes.ts';
import type { ServiceDependencies } from './service-dependencies.ts';
import { asServiceError } from './service-error.ts';

/**
 * `client` is told to the log, and changes nothing else. `signal` aborts when the client leaves before the headers;
 * the request's own signal when not given.
 */
export type Service = (
  request: Request,
  client?: RequestClient | null,
  signal?: AbortSignal,
) => Promise<Response>;

/**
 * The whole of `/v1` as a function. Every answer to a fault has OpenAI's error shape.
 * Rejects only with the reason for which the request was aborted.
 * @example
 * const service = createService({ engine, keys, models, responses, now: Date.now });
 * const response = await service(new Request('https://site.example/v1/models', { headers }));
 */
export function createService(dependencies: ServiceDependencies): Service {
  const { keys, log, now } = dependencies;

  return async (request, client = null, signal = request.signal) => {
    const { method, url } = request;
    const path = new URL(url).pathname;
    const id = crypto.randomUUID();
    const requestId = requestIdOf(request, id);
    const receivedAt = now();
    const trace = log ? new RequestTrace(log, now, { id: requestId, method, path, client }) : null;
    let call: Call | null = null;
    dependencies.models.prefetch?.();
    try {
      const route = findRoute(method, path);
      const admitted = await authenticate(request.headers.get('authorization'), keys, route.purpose);
      trace?.key(admitted.label);
      const abort = followSignal(signal);
      const engine = engineFor(request.headers, admitted, dependencies.engine);
      const own = { ...dependencies, engine };
      call = {
        id,
        requestId,
        request,
        signal,
        admitted,
        receivedAt,
        abort,
        trace,
        dependencies: own,
        servedBy: null,
      };
      const response = await route.answer(call);
      addCommonHeaders(response.headers, call);
      trace?.headers(response.status);
      return withoutBody(method, response);
    } catch (error) {
      const response = asServiceError(error).toResponse();
      trace?.refused(error, response.status, signal.aborted);
      if (signal.aborted) throw signal.reason;
      if (call) addCommonHeaders(response.headers, call);
      else response.headers.set('x-request-id', requestId);
      return withoutBody(method, response);
    }
  };
}

const withoutBody = (method: string, response: Response): Response =>
  method === 'HEAD' ? new Response(null, response) : response;
