import { PatternRouter } from 'hono/router/pattern-router';
import type * as z from 'zod/mini';

import { asServiceError, requestError, storageUnavailable, decoded, type ServiceError } from '#base';
import type { RequestClient, Admitted, KeyStore, ServiceDependencies } from '#protocol';
import { type BodyRules, parseBody, readJsonObject } from './body/request-body.ts';
import { countChatTokens, createChatCompletion } from './chat/chat.ts';
import { createCompletion } from './completions/completions.ts';
import { createDecision } from './decisions/decisions.ts';
import { createEmbeddings } from './embeddings/embeddings.ts';
import { ALL_ENDPOINTS, documentedPath, type Endpoint, type EndpointName } from './endpoints.ts';
import {
  arrive,
  beginExchange,
  checkRoute,
  type ClientWatch,
  enterInFlight,
  type Exchange,
  ownSignal,
} from './http/exchange.ts';
import { addCommonHeaders } from './http/response.ts';
import { listModels, retrieveModel } from './model-list/models.ts';
import { createRerank } from './rerank/rerank.ts';
import {
  cancelResponse,
  countResponseTokens,
  createResponse,
  deleteResponse,
  listInputItems,
  retrieveResponse,
} from './responses/responses.ts';
import { createSpeech } from './speech/speech.ts';
import { createTranscription } from './transcriptions/transcriptions.ts';

const readChat = async () => (await import('./chat/chat-schema.ts')).chatRules;
const readRerank = async () => (await import('./rerank/rerank-schema.ts')).rerankRules;
const readResponse = async () => (await import('./responses/response-schema.ts')).responseRules;

/**
 * Rules of the endpoints with a JSON body, imported when a request needs them: evaluating all schemas would take
 * most of a service worker's start.
 */
export const RULES = {
  chat: readChat,
  countChat: readChat,
  completion: async () => (await import('./completions/completion-schema.ts')).completionRules,
  response: readResponse,
  countResponse: readResponse,
  speech: async () => (await import('./speech/speech-schema.ts')).speechRules,
  decision: async () => (await import('./decisions/decision-schema.ts')).decisionRules,
  embeddings: async () => (await import('./embeddings/embeddings-request.ts')).embeddingsRules,
  rerank: readRerank,
  reranking: readRerank,
  rerankV2: readRerank,
} satisfies Partial<Record<EndpointName, () => Promise<BodyRules<z.ZodMiniType>>>>;

/** Answers a request. `id`: the parameter of its path, if it has one. @throws ServiceError */
type Answer = (exchange: Exchange, id: string) => Promise<Response>;

const ANSWERS: Record<EndpointName, Answer> = {
  listModels,
  retrieveModel,
  chat: withBody(RULES.chat, createChatCompletion),
  countChat: withBody(RULES.countChat, countChatTokens),
  completion: withBody(RULES.completion, createCompletion),
  response: withBody(RULES.response, createResponse),
  countResponse: withBody(RULES.countResponse, countResponseTokens),
  retrieveResponse,
  deleteResponse,
  listInputItems,
  cancelResponse,
  transcription: (exchange) => createTranscription(exchange, 'transcribe'),
  translation: (exchange) => createTranscription(exchange, 'translate'),
  speech: withBody(RULES.speech, createSpeech),
  decision: withBody(RULES.decision, createDecision),
  embeddings: withBody(RULES.embeddings, createEmbeddings),
  rerank: withBody(RULES.rerank, createRerank),
  reranking: withBody(RULES.reranking, createRerank),
  rerankV2: withBody(RULES.rerankV2, createRerank),
};

/** Reads and checks the body first. `raw`: the body with fields that the schema does not name. */
function withBody<Schema extends z.ZodMiniType>(
  readRules: () => Promise<BodyRules<Schema>>,
  answer: (exchange: Exchange, body: z.output<Schema>, raw: Record<string, unknown>) => Promise<Response>,
): Answer {
  return async (exchange) => {
    const rules = await readRules();
    const read = await readJsonObject(exchange, rules.maxValues, rules.maxBytes);
    return answer(exchange, parseBody(rules, read), read.body);
  };
}

interface Route {
  isMetered: boolean;
  answer(exchange: Exchange): Promise<Response>;
}

type Methods = Partial<Record<Endpoint['method'], Pick<Endpoint, 'isMetered'> & { answer: Answer }>>;

/** Hono's router without the rest of Hono, which would only enlarge the service worker. */
const router = new PatternRouter<Methods>();
const paths = new Map<string, Methods>();
for (const [name, { method, path, isMetered }] of ALL_ENDPOINTS) {
  const methods = paths.get(path) ?? {};
  // Without a parameter, a path needs no pattern.
  if (!paths.has(path) && path.includes(':')) router.add('ALL', path, methods);
  paths.set(path, methods);
  methods[method] = { isMetered, answer: ANSWERS[name] };
}

/**
 * Finds a route. A fault of path or method is the route's answer: the key is checked before 404 or 405 is
 * reported.
 */
function findRoute(method: string, path: string): Route {
  const asked = path.replace(/\/$/, '');
  const [match] = router.match('ALL', asked)[0];
  const methods = paths.get(asked) ?? match?.[0];
  if (!methods) return failing(unknownPath(path));
  const allow = allowed(methods);
  if (method === 'OPTIONS')
    return unmetered(async () => new Response(null, { status: 204, headers: { allow } }));
  const name = (method === 'HEAD' ? 'GET' : method) as keyof Methods;
  // `constructor` is a method of HTTP like any other word.
  const endpoint = Object.hasOwn(methods, name) && methods[name];
  if (!endpoint) return failing(wrongMethod(method, path, allow));
  const id = decoded((match?.[1] as Record<string, string> | undefined)?.['id'] ?? '');
  return { isMetered: endpoint.isMetered, answer: (exchange) => endpoint.answer(exchange, id) };
}

const unmetered = (answer: Route['answer']): Route => ({ isMetered: false, answer });

const failing = (error: ServiceError): Route =>
  unmetered(async () => {
    throw error;
  });

const allowed = (methods: Methods): string =>
  [
    ...Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    'OPTIONS',
  ].join(', ');

function unknownPath(path: string): ServiceError {
  const known = [...paths.keys()].map(documentedPath);
  const hint = path.startsWith('/v1/v1/') ? ' It has /v1 twice: the base URL ends with /v1.' : '';
  return requestError(404, `Unknown path ${path.slice(0, 200)}.${hint} Use one of ${known.join(', ')}.`);
}

function wrongMethod(method: string, path: string, allow: string): ServiceError {
  const message = `The method ${method} is not allowed at ${path.slice(0, 200)}. Use ${allow}.`;
  return requestError(405, message, null, null, { allow });
}

const REASONS = {
  malformed: 'Malformed API key (checksum mismatch). It may be truncated, mistyped or of another service.',
  unknown: 'Unknown API key.',
  revoked: 'The API key has been revoked.',
  expired: 'The API key has expired.',
};

/** @throws ServiceError 401; 500 when the keys cannot be read. */
async function authenticate(
  authorization: string | null,
  keys: KeyStore,
  isMetered: boolean,
): Promise<Admitted> {
  if (authorization === null || authorization.trim() === '') throw invalidKey('The API key is missing.');
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  if (token === undefined) throw invalidKey('The Authorization header is not a bearer token.');
  const admission = await keys.admit(token, isMetered).catch(storageUnavailable);
  if (!admission.admitted) throw invalidKey(REASONS[admission.reason]);
  return admission;
}

function invalidKey(reason: string): ServiceError {
  const message = `${reason} Send \`Authorization: Bearer lt_…\` with a key that keys.ensure() or keys.issue() of the page returns.`;
  return requestError(401, message, 'invalid_api_key');
}

/**
 * Function of the service. `client` appears in the request log, and is the unit of fair scheduling. Requests
 * without `watch` are followed by their own signal only.
 */
export type Service = (
  request: Request,
  client?: RequestClient | null,
  watch?: ClientWatch,
) => Promise<Response>;

/**
 * Creates all of `/v1` as a function. Errors have OpenAI's shape. It rejects only with the reason for which
 * the request was aborted.
 */
export const createService =
  (dependencies: ServiceDependencies): Service =>
  async (request, client = null, watch = ownSignal(request)) => {
    const { method, headers, url } = request;
    const arrival = arrive(request, client, watch, dependencies);
    const { trace, requestId } = arrival;
    let exchange: Exchange | null = null;
    try {
      const route = findRoute(method, new URL(url).pathname);
      const admitted = await authenticate(headers.get('authorization'), dependencies.keys, route.isMetered);
      exchange = beginExchange(arrival, admitted, dependencies);
      checkRoute(request);
      if (route.isMetered) await enterInFlight(exchange);
      const response = await route.answer(exchange);
      addCommonHeaders(response.headers, exchange);
      trace.headers(response.status);
      if (!trace.continued) watch.stop();
      return withoutBody(method, response);
    } catch (error) {
      const response = asServiceError(error).toResponse();
      watch.stop();
      exchange?.leave();
      trace.refused(error, response.status, watch.gone.aborted);
      if (watch.gone.aborted) throw watch.gone.reason;
      if (exchange) addCommonHeaders(response.headers, exchange);
      else response.headers.set('x-request-id', requestId);
      return withoutBody(method, response);
    }
  };

const withoutBody = (method: string, response: Response): Response =>
  method === 'HEAD' ? new Response(null, response) : response;
