import type { Admitted, KeyStore, EngineClient, ServiceDependencies } from './service-dependencies.ts';
import { requestError, storageUnavailable, asServiceError, type ServiceError } from './service-error.ts';
import type { RequestClient } from '../protocol/request-log.ts';
import { followSignal, requestIdOf, RequestTrace, type Call } from './http/call.ts';
import { addCommonHeaders } from './http/response.ts';
import { findRoute } from './routes.ts';

const REASONS = {
  malformed: 'Malformed API key (checksum mismatch). It may be truncated or mistyped.',
  unknown: 'Unknown API key.',
  revoked: 'The API key has been revoked.',
  expired: 'The API key has expired.',
};

/** @throws ServiceError 401; 500 when the keys cannot be read. */
async function authenticate(
  authorization: string | null,
  keys: KeyStore,
  purpose: 'chat' | 'other',
): Promise<Admitted> {
  if (authorization === null || authorization.trim() === '') throw invalidKey('The API key is missing.');
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  if (token === undefined) throw invalidKey('The Authorization header is not a bearer token.');
  const admission = await keys.admit(token, purpose).catch(() => {
    throw storageUnavailable();
  });
  if (!admission.admitted) throw invalidKey(REASONS[admission.reason]);
  return admission;
}

const invalidKey = (reason: string): ServiceError =>
  requestError(
    401,
    `${reason} Send \`Authorization: Bearer lt_…\` with a key that the site’s administrator has issued.`,
    'invalid_api_key',
  );

/** Limits one request to the device. Its value is `device`. */
const HEADER = 'localtext-route';

/**
 * The engine as one request may use it: limited to the device where the request or its key demands it.
 * @throws ServiceError 400
 */
function engineFor(headers: Headers, { deviceOnly }: Admitted, engine: EngineClient): EngineClient {
  const route = headers.get(HEADER);
  if (route !== null && route !== 'device') {
    const rule = `The header \`${HEADER}\` must be \`device\`, or absent.`;
    throw requestError(400, rule, 'invalid_value', HEADER);
  }
  if (!deviceOnly && route === null) return engine;
  return {
    chat: (job, options) => engine.chat({ ...job, deviceOnly: true }, options),
    embed: (job, options) => engine.embed({ ...job, deviceOnly: true }, options),
    transcribe: (job, options) => engine.transcribe(job, options),
  };
}

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
