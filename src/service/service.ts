import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { authenticate } from './authentication.ts';
import { followSignal, requestIdOf, type Call } from './call.ts';
import { createChatCompletion } from './chat.ts';
import { createCompletion } from './completions/completions.ts';
import { createEmbeddings } from './embeddings.ts';
import { listModels, retrieveModel } from './models.ts';
import { createResponse, deleteResponse, listInputItems, retrieveResponse } from './responses/responses.ts';
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

/** What generates text counts against a key's limits. */
const isChat = ({ method, url }: Request): boolean =>
  method === 'POST' && /\/(completions|responses)$/.test(new URL(url).pathname);

function routes(basePath: string): Hono<Environment> {
  const app = new Hono<Environment>().basePath(basePath);
  const route = (path: string, handlers: { GET?: Handler; POST?: Handler; DELETE?: Handler }): void => {
    const methods = Object.keys(handlers).flatMap((method) =>
      method === 'GET' ? ['GET', 'HEAD'] : [method],
    );
    const allow = [...methods, 'OPTIONS'].join(', ');
    for (const [method, handler] of Object.entries(handlers)) app.on(method, path, handler);
    app.options(path, () => new Response(null, { status: 204, headers: { allow } }));
    app.all(path, ({ req }) => {
      throw wrongMethod(req.method, req.path, allow);
    });
  };

  route('/models', { GET: ({ env }) => listModels(env.call) });
  route('/models/:id{.+}', { GET: ({ env, req }) => retrieveModel(env.call, req.param('id') ?? '') });
  route('/chat/completions', { POST: ({ env }) => createChatCompletion(env.call) });
  route('/completions', { POST: ({ env }) => createCompletion(env.call) });
  route('/responses', { POST: ({ env }) => createResponse(env.call) });
  route('/responses/:id', {
    GET: ({ env, req }) => retrieveResponse(env.call, req.param('id') ?? ''),
    DELETE: ({ env, req }) => deleteResponse(env.call, req.param('id') ?? ''),
  });
  route('/responses/:id/input_items', {
    GET: ({ env, req }) => listInputItems(env.call, req.param('id') ?? ''),
  });
  route('/embeddings', { POST: ({ env }) => createEmbeddings(env.call) });

  app.notFound(({ req }) => {
    throw unknownPath(req.path, basePath);
  });
  app.onError((error) => {
    throw error;
  });
  return app;
}

function unknownPath(given: string, basePath: string): ServiceError {
  const known = [
    '/models',
    '/models/{id}',
    '/chat/completions',
    '/completions',
    '/responses',
    '/embeddings',
  ].map((path) => basePath + path);
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
