import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { authenticate } from './authentication.ts';
import { followSignal, requestIdOf, type Call } from './call.ts';
import { createChatCompletion } from './chat.ts';
import { createEmbeddings } from './embeddings.ts';
import { listModels, retrieveModel } from './models.ts';
import { addCommonHeaders } from './response-headers.ts';
import type { ServiceDependencies } from './service-dependencies.ts';
import { asServiceError, ServiceError } from './service-error.ts';

type Environment = { Bindings: { call: Call } };
type Handler = (context: Context<Environment>) => Promise<Response>;

/**
 * The whole of `/v1` as a function. Every answer to a fault has OpenAI's error shape.
 * Rejects only with the reason for which the request itself was aborted.
 * @example
 * const service = createService({ engine, keys, models, now: Date.now });
 * const response = await service(new Request('https://site.example/v1/models', { headers }));
 */
export function createService(dependencies: ServiceDependencies): (request: Request) => Promise<Response> {
  const app = routes(dependencies.basePath ?? '/v1');

  return async (request) => {
    const id = crypto.randomUUID();
    const requestId = requestIdOf(request, id);
    const receivedAt = dependencies.now();
    let call: Call | null = null;
    try {
      const admitted = await authenticate(
        request.headers.get('authorization'),
        dependencies.keys,
        isChat(request) ? 'chat' : 'other',
      );
      const abort = new AbortController();
      followSignal(request.signal, abort);
      call = { id, requestId, request, admitted, receivedAt, abort, dependencies };
      const response = await app.fetch(request, { call });
      addCommonHeaders(response.headers, call);
      return response;
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      const response = asServiceError(error).toResponse();
      if (call) addCommonHeaders(response.headers, call);
      else response.headers.set('x-request-id', requestId);
      return request.method === 'HEAD' ? new Response(null, response) : response;
    }
  };
}

const isChat = ({ method, url }: Request): boolean =>
  method === 'POST' && new URL(url).pathname.endsWith('/chat/completions');

function routes(basePath: string): Hono<Environment> {
  const app = new Hono<Environment>().basePath(basePath);
  const route = (method: 'GET' | 'POST', path: string, handler: Handler): void => {
    const allow = method === 'GET' ? 'GET, HEAD, OPTIONS' : `${method}, OPTIONS`;
    app.on(method, path, handler);
    app.options(path, () => new Response(null, { status: 204, headers: { allow } }));
    app.all(path, ({ req }) => {
      throw wrongMethod(req.method, req.path, allow);
    });
  };

  route('GET', '/models', ({ env }) => listModels(env.call));
  route('GET', '/models/:id{.+}', ({ env, req }) => retrieveModel(env.call, req.param('id') ?? ''));
  route('POST', '/chat/completions', ({ env }) => createChatCompletion(env.call));
  route('POST', '/embeddings', ({ env }) => createEmbeddings(env.call));

  app.notFound(({ req }) => {
    throw unknownPath(req.path, basePath);
  });
  app.onError((error) => {
    throw error;
  });
  return app;
}

function unknownPath(given: string, basePath: string): ServiceError {
  const known = ['/models', '/models/{id}', '/chat/completions', '/embeddings'].map(
    (path) => basePath + path,
  );
  return new ServiceError({
    status: 404,
    type: 'invalid_request_error',
    code: null,
    param: null,
    message: `There is nothing at ${given.slice(0, 200)}. Paths are ${known.join(', ')}.`,
  });
}

function wrongMethod(method: string, path: string, allow: string): ServiceError {
  return new ServiceError(
    {
      status: 405,
      type: 'invalid_request_error',
      code: null,
      param: null,
      message: `${method} is not possible at ${path.slice(0, 200)}. Use ${allow}.`,
    },
    { allow },
  );
}
