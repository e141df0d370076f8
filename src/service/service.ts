import { config } from 'zod/mini';
import { authenticate } from './http/authentication.ts';
import { engineFor } from './http/device-only.ts';
import { followSignal, requestIdOf, type Call } from './http/call.ts';
import type { RequestClient } from '../protocol/request-log.ts';
import { RequestTrace } from './http/request-trace.ts';
import { addCommonHeaders } from './http/response-headers.ts';
import { Routes } from './routes.ts';
import type { ServiceDependencies } from './service-dependencies.ts';
import { asServiceError } from './service-error.ts';

// Compiled checks need `new Function`: a strict Content-Security-Policy reports even the attempt.
config({ jitless: true });

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
  const routes = new Routes(dependencies.basePath ?? '/v1');

  return async (request, client = null, signal = request.signal) => {
    const id = crypto.randomUUID();
    const requestId = requestIdOf(request, id);
    const receivedAt = dependencies.now();
    const trace = dependencies.log
      ? startTrace(dependencies.log, dependencies.now, request, requestId, client)
      : null;
    let call: Call | null = null;
    try {
      const admitted = await authenticate(
        request.headers.get('authorization'),
        dependencies.keys,
        generates(request) ? 'chat' : 'other',
      );
      trace?.key(admitted.label);
      const abort = new AbortController();
      followSignal(signal, abort);
      call = {
        id,
        requestId,
        request,
        signal,
        admitted,
        receivedAt,
        abort,
        trace,
        dependencies,
        servedBy: null,
      };
      const engine = engineFor(request.headers, admitted, dependencies.engine);
      call.dependencies = { ...dependencies, engine };
      const response = await routes.answer(call);
      addCommonHeaders(response.headers, call);
      trace?.headers(response.status);
      return response;
    } catch (error) {
      const response = asServiceError(error).toResponse();
      trace?.refused(error, response.status, signal.aborted);
      if (signal.aborted) throw signal.reason;
      if (call) addCommonHeaders(response.headers, call);
      else response.headers.set('x-request-id', requestId);
      return request.method === 'HEAD' ? new Response(null, response) : response;
    }
  };
}

function startTrace(
  publish: NonNullable<ServiceDependencies['log']>,
  now: () => number,
  { method, url }: Request,
  id: string,
  client: RequestClient | null,
): RequestTrace {
  return new RequestTrace(publish, now, { id, method, path: new URL(url).pathname, client });
}

/** What generates text counts against a key's limits. */
const generates = ({ method, url }: Request): boolean =>
  method === 'POST' && /\/(completions|responses)\/?$/.test(new URL(url).pathname);
