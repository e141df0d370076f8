import { PatternRouter } from 'hono/router/pattern-router';
import type { Call } from './http/call.ts';
import { createChatCompletion } from './chat/chat.ts';
import { createCompletion } from './completions/completions.ts';
import { createEmbeddings } from './embeddings/embeddings.ts';
import { listModels, retrieveModel } from './models/models.ts';
import { createResponse, deleteResponse, listInputItems, retrieveResponse } from './responses/responses.ts';
import { ServiceError } from './service-error.ts';

type Handler = (call: Call, id: string) => Promise<Response>;
type Handlers = Partial<Record<'GET' | 'POST' | 'DELETE', Handler>>;

/** Below the base path. */
const ROUTES: Record<string, Handlers> = {
  '/models': { GET: listModels },
  '/models/:id{.+}': { GET: retrieveModel },
  '/chat/completions': { POST: createChatCompletion },
  '/completions': { POST: createCompletion },
  '/responses': { POST: createResponse },
  '/responses/:id': { GET: retrieveResponse, DELETE: deleteResponse },
  '/responses/:id/input_items': { GET: listInputItems },
  '/embeddings': { POST: createEmbeddings },
};

/** Hono's router without the rest of it: a service worker is fetched whole, and needs no more. */
export class Routes {
  readonly #router = new PatternRouter<Handlers>();
  readonly #basePath: string;

  constructor(basePath: string) {
    this.#basePath = basePath;
    for (const [path, handlers] of Object.entries(ROUTES)) this.#router.add('ALL', basePath + path, handlers);
  }

  /** @throws ServiceError 404, 405, or what the handler throws */
  async answer(call: Call): Promise<Response> {
    const { method, url } = call.request;
    const { pathname } = new URL(url);
    const [match] = this.#router.match('ALL', pathname)[0];
    if (!match) throw this.#unknownPath(pathname);
    const [handlers, groups] = match;
    const allow = allowed(handlers);
    if (method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow } });
    const handler = handlers[(method === 'HEAD' ? 'GET' : method) as keyof Handlers];
    if (!handler) throw wrongMethod(method, pathname, allow);
    const id = (groups as Record<string, string>)['id'] ?? '';
    const response = await handler(call, decoded(id));
    return method === 'HEAD' ? new Response(null, response) : response;
  }

  #unknownPath(given: string): ServiceError {
    const known = Object.keys(ROUTES).map((path) => this.#basePath + path.replace(/:id(\{.*\})?/, '{id}'));
    return new ServiceError({
      status: 404,
      type: 'invalid_request_error',
      code: null,
      param: null,
      message: `Unknown path ${given.slice(0, 200)}. Use one of ${known.join(', ')}.`,
    });
  }
}

const allowed = (handlers: Handlers): string =>
  [
    ...Object.keys(handlers).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    'OPTIONS',
  ].join(', ');

/** A broken escape stands for itself. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function wrongMethod(method: string, path: string, allow: string): ServiceError {
  return new ServiceError(
    {
      status: 405,
      type: 'invalid_request_error',
      code: null,
      param: null,
      message: `The method ${method} is not allowed at ${path.slice(0, 200)}. Use ${allow}.`,
    },
    { allow },
  );
}
