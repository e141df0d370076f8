import { PatternRouter } from 'hono/router/pattern-router';
import type * as z from 'zod/mini';
import { parseBody, readJsonObject, type BodyRules } from './body/request-body.ts';
import { createChatCompletion } from './chat/chat.ts';
import { createCompletion } from './completions/completions.ts';
import { createEmbeddings } from './embeddings/embeddings.ts';
import type { Call } from './http/call.ts';
import { createTranscription } from './transcriptions/transcriptions.ts';
import { listModels, retrieveModel } from './models/models.ts';
import { createResponse, deleteResponse, listInputItems, retrieveResponse } from './responses/responses.ts';
import { requestError, type ServiceError } from './service-error.ts';

interface Endpoint {
  /** `chat`: counts against the key's limits of requests, of tokens and of requests in flight. */
  purpose: 'chat' | 'other';
  answer(call: Call, id: string): Promise<Response>;
}

type Endpoints = Partial<Record<'GET' | 'POST' | 'DELETE', Endpoint>>;

/** A service worker that starts evaluates none of these until a request needs it: schemas take most of its start. */
const chatRules = async () => (await import('./chat/chat-schema.ts')).chatRules;
const completionRules = async () => (await import('./completions/completion-schema.ts')).completionRules;
const responseRules = async () => (await import('./responses/response-schema.ts')).responseRules;
const embeddingsRules = async () => (await import('./embeddings/embeddings-request.ts')).embeddingsRules;

const ROUTES: Record<string, Endpoints> = {
  '/v1/models': { GET: other(listModels) },
  '/v1/models/:id{.+}': { GET: other(retrieveModel) },
  '/v1/chat/completions': { POST: { purpose: 'chat', answer: withBody(chatRules, createChatCompletion) } },
  '/v1/completions': { POST: { purpose: 'chat', answer: withBody(completionRules, createCompletion) } },
  '/v1/responses': { POST: { purpose: 'chat', answer: withBody(responseRules, createResponse) } },
  '/v1/responses/:id': { GET: other(retrieveResponse), DELETE: other(deleteResponse) },
  '/v1/responses/:id/input_items': { GET: other(listInputItems) },
  '/v1/audio/transcriptions': { POST: { purpose: 'chat', answer: createTranscription('transcribe') } },
  '/v1/audio/translations': { POST: { purpose: 'chat', answer: createTranscription('translate') } },
  '/v1/embeddings': { POST: other(withBody(embeddingsRules, createEmbeddings)) },
};

function other<Answer extends Endpoint['answer']>(answer: Answer): { purpose: 'other'; answer: Answer } {
  return { purpose: 'other', answer };
}

/** The body is read and checked first. `given`: also its fields that the schema does not name. */
function withBody<Schema extends z.ZodMiniType>(
  readRules: () => Promise<BodyRules<Schema>>,
  answer: (call: Call, body: z.output<Schema>, given: Record<string, unknown>) => Promise<Response>,
): Endpoint['answer'] {
  return async (call) => {
    const rules = await readRules();
    const given = await readJsonObject(call, rules.maxValues);
    return answer(call, parseBody(rules, given), given);
  };
}

export interface ServiceRoute {
  purpose: Endpoint['purpose'];
  /** @throws ServiceError 404, 405, or what the endpoint throws */
  answer(call: Call): Promise<Response>;
}

/** Hono's router without the rest of it: a service worker is fetched whole, and needs no more. */
const router = new PatternRouter<Endpoints>();
for (const [path, endpoints] of Object.entries(ROUTES)) router.add('ALL', path, endpoints);

/** A fault of path or method is the route's answer: the key is checked before it is told. */
export function findRoute(method: string, path: string): ServiceRoute {
  const [match] = router.match('ALL', path)[0];
  if (!match) return failing(unknownPath(path));
  const [endpoints, groups] = match;
  const allow = allowed(endpoints);
  if (method === 'OPTIONS') return other(async () => new Response(null, { status: 204, headers: { allow } }));
  const endpoint = endpoints[(method === 'HEAD' ? 'GET' : method) as keyof Endpoints];
  if (!endpoint) return failing(wrongMethod(method, path, allow));
  const id = decoded((groups as Record<string, string>)['id'] ?? '');
  return { purpose: endpoint.purpose, answer: (call) => endpoint.answer(call, id) };
}

const failing = (error: ServiceError): ServiceRoute =>
  other(async () => {
    throw error;
  });

const allowed = (endpoints: Endpoints): string =>
  [
    ...Object.keys(endpoints).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    'OPTIONS',
  ].join(', ');

/** An invalid escape stands for itself. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function unknownPath(given: string): ServiceError {
  const known = Object.keys(ROUTES).map((path) => path.replace(/:id(\{.*\})?/, '{id}'));
  return requestError(404, `Unknown path ${given.slice(0, 200)}. Use one of ${known.join(', ')}.`);
}

function wrongMethod(method: string, path: string, allow: string): ServiceError {
  const message = `The method ${method} is not allowed at ${path.slice(0, 200)}. Use ${allow}.`;
  return requestError(405, message, null, null, { allow });
}
