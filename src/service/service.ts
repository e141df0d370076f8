import { PatternRouter } from 'hono/router/pattern-router';
import type * as z from 'zod/mini';

import {
  CALL_HEADER,
  type Origin,
  type RequestClient,
  type Admitted,
  type EngineClient,
  type EngineRequest,
  type KeyStore,
  type ServiceDependencies,
} from '#protocol';
import { type BodyRules, parseBody, readJsonObject } from './body/request-body.ts';
import { countChatTokens, createChatCompletion } from './chat/chat.ts';
import { createCompletion } from './completions/completions.ts';
import { createDecision } from './decisions/decisions.ts';
import { createEmbeddings } from './embeddings/embeddings.ts';
import {
  type Call,
  type ClientWatch,
  followSignals,
  ownSignal,
  requestIdOf,
  RequestTrace,
} from './http/call.ts';
import { enterInFlight } from './generation/admission.ts';
import { addCommonHeaders, EVENT_STREAM } from './http/response.ts';
import { listModels, retrieveModel } from './model-list/models.ts';
import {
  countResponseTokens,
  createResponse,
  deleteResponse,
  listInputItems,
  retrieveResponse,
} from './responses/responses.ts';
import type { JobOf, Kind } from '#jobs';
import { asServiceError, requestError, storageUnavailable, decoded, type ServiceError } from '#base';
import { createTranscription } from './transcriptions/transcriptions.ts';

interface Endpoint {
  /**
   * `chat`: counts against the key's limits of requests, of tokens and of requests in flight. `other`:
   * against none.
   */
  purpose: 'chat' | 'other';
  answer(call: Call, id: string): Promise<Response>;
}

type Endpoints = Partial<Record<'GET' | 'POST' | 'DELETE', Endpoint>>;

/**
 * Rules of endpoints, imported when a request needs them: evaluating all schemas would take most of a service
 * worker's start.
 */
const chatRules = async () => (await import('./chat/chat-schema.ts')).chatRules;
const completionRules = async () => (await import('./completions/completion-schema.ts')).completionRules;
const responseRules = async () => (await import('./responses/response-schema.ts')).responseRules;
const decisionRules = async () => (await import('./decisions/decision-schema.ts')).decisionRules;
const embeddingsRules = async () => (await import('./embeddings/embeddings-request.ts')).embeddingsRules;

const ROUTES: Record<string, Endpoints> = {
  '/v1/models': { GET: other(listModels) },
  '/v1/models/:id{.+}': { GET: other(retrieveModel) },
  '/v1/chat/completions': { POST: chat(withBody(chatRules, createChatCompletion)) },
  '/v1/chat/completions/input_tokens': { POST: chat(withBody(chatRules, countChatTokens)) },
  '/v1/completions': { POST: chat(withBody(completionRules, createCompletion)) },
  '/v1/responses': { POST: chat(withBody(responseRules, createResponse)) },
  '/v1/responses/input_tokens': { POST: chat(withBody(responseRules, countResponseTokens)) },
  // `compact` is an endpoint of OpenAI's, not an id.
  '/v1/responses/:id{(?!compact$)[^/]+}': { GET: other(retrieveResponse), DELETE: other(deleteResponse) },
  '/v1/responses/:id/input_items': { GET: other(listInputItems) },
  '/v1/audio/transcriptions': { POST: chat((call) => createTranscription(call, 'transcribe')) },
  '/v1/audio/translations': { POST: chat((call) => createTranscription(call, 'translate')) },
  '/v1/decisions': { POST: chat(withBody(decisionRules, createDecision)) },
  '/v1/embeddings': { POST: other(withBody(embeddingsRules, createEmbeddings)) },
};

function chat(answer: Endpoint['answer']): Endpoint {
  return { purpose: 'chat', answer };
}

function other<Answer extends Endpoint['answer']>(answer: Answer): { purpose: 'other'; answer: Answer } {
  return { purpose: 'other', answer };
}

/** Reads and checks the body first. `raw`: the body with fields that the schema does not name. */
function withBody<Schema extends z.ZodMiniType>(
  readRules: () => Promise<BodyRules<Schema>>,
  answer: (call: Call, body: z.output<Schema>, raw: Record<string, unknown>) => Promise<Response>,
): Endpoint['answer'] {
  return async (call) => {
    const rules = await readRules();
    const raw = await readJsonObject(call, rules.maxValues, rules.maxBytes);
    return answer(call, parseBody(rules, raw), raw);
  };
}

export interface ServiceRoute {
  purpose: Endpoint['purpose'];
  /** @throws ServiceError 404, 405, or what the endpoint throws */
  answer(call: Call): Promise<Response>;
}

/** Hono's router without the rest of Hono, which would only enlarge the service worker. */
const router = new PatternRouter<Endpoints>();
for (const [path, endpoints] of Object.entries(ROUTES)) router.add('ALL', path, endpoints);

/**
 * Finds a route. A fault of path or method is the route's answer: the key is checked before 404 or 405 is
 * reported.
 */
function findRoute(method: string, path: string): ServiceRoute {
  const [match] = router.match('ALL', path.replace(/\/$/, ''))[0];
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

function unknownPath(path: string): ServiceError {
  const known = Object.keys(ROUTES).map((route) => route.replace(/:id(\{.*\})?/, '{id}'));
  return requestError(404, `Unknown path ${path.slice(0, 200)}. Use one of ${known.join(', ')}.`);
}

function wrongMethod(method: string, path: string, allow: string): ServiceError {
  const message = `The method ${method} is not allowed at ${path.slice(0, 200)}. Use ${allow}.`;
  return requestError(405, message, null, null, { allow });
}

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

/** Header that limits one request to the device. Its value is `device`. */
const ROUTE_HEADER = 'localtext-route';

/**
 * Engine for one request, limited to the device if the request or its key demands that.
 * @throws ServiceError 400
 */
function engineFor(call: Call, client: RequestClient | null): EngineClient {
  const { request, admitted, dependencies } = call;
  const route = request.headers.get(ROUTE_HEADER);
  if (route !== null && route !== 'device') {
    const rule = `The header \`${ROUTE_HEADER}\` must be \`device\`, or absent.`;
    throw requestError(400, rule, 'invalid_value', ROUTE_HEADER);
  }
  const limits = (admitted.deviceOnly || route !== null) && { deviceOnly: true };
  const { engine } = dependencies;
  return {
    run: <K extends Kind>(job: JobOf<K>, options: EngineRequest) =>
      engine.run<K>({ ...job, ...limits }, { ...options, origin: originOf(call, client) }),
  };
}

function originOf({ id, request, streamed }: Call, client: RequestClient | null): Origin {
  const { headers } = request;
  const origin: Origin = { client: client?.id ?? '', request: id };
  if (streamed) return origin;
  const background = { ...origin, background: true } as const;
  if (client === null || headers.has(CALL_HEADER)) return background;
  const attempt = headers.get('x-stainless-retry-count');
  const counts = attempt !== null && /^\d{1,3}$/.test(attempt);
  return { ...background, mayBeRepeated: true, ...(counts && { attempt: Number(attempt) }) };
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
export function createService(dependencies: ServiceDependencies): Service {
  const { keys, log } = dependencies;

  return async (request, client = null, watch = ownSignal(request)) => {
    const { method, url } = request;
    const path = new URL(url).pathname;
    const id = crypto.randomUUID();
    const requestId = requestIdOf(request, id);
    const receivedAt = Date.now();
    const trace = new RequestTrace(log, { id: requestId, method, path, client });
    let call: Call | null = null;
    const models = dependencies.models.forRequest();
    try {
      const route = findRoute(method, path);
      const admitted = await authenticate(request.headers.get('authorization'), keys, route.purpose);
      trace.key(admitted.label);
      const { abort } = followSignals([watch.gone]);
      call = {
        id,
        requestId,
        request,
        watch,
        admitted,
        receivedAt,
        abort,
        leave: () => undefined,
        trace,
        dependencies: { ...dependencies, models },
        warnings: [],
        servedBy: null,
        streamed: false,
      };
      call.dependencies.engine = engineFor(call, client);
      if (route.purpose === 'chat') call.leave = await enterInFlight(call);
      const response = await route.answer(call);
      addCommonHeaders(response.headers, call);
      trace.headers(response.status);
      if (response.headers.get('content-type') !== EVENT_STREAM) watch.stop();
      return withoutBody(method, response);
    } catch (error) {
      const response = asServiceError(error).toResponse();
      watch.stop();
      call?.leave();
      trace.refused(error, response.status, watch.gone.aborted);
      if (watch.gone.aborted) throw watch.gone.reason;
      if (call) addCommonHeaders(response.headers, call);
      else response.headers.set('x-request-id', requestId);
      return withoutBody(method, response);
    }
  };
}

const withoutBody = (method: string, response: Response): Response =>
  method === 'HEAD' ? new Response(null, response) : response;
