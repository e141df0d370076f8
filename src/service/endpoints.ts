/** One endpoint of `/v1`. */
export interface Endpoint {
  method: 'GET' | 'POST' | 'DELETE';
  /** Path, with Hono's patterns for parameters. */
  path: string;
  /** Whether the key's limits apply: of requests, of tokens and of requests in flight. */
  isMetered: boolean;
  /** Short name, as lists of requests show it. */
  label: string;
  /** Set if the body takes `stream`. */
  streams?: true;
  /** Smallest valid JSON body, with little to compute. Absent: the endpoint takes no JSON. */
  sample?: Readonly<Record<string, unknown>>;
}

const chat = 'amber-phoenix-4';
const messages = [{ role: 'user', content: 'Hi' }];
const questions = [
  { type: 'choice', instructions: 'Which?', choices: [{ value: 'a' }, { value: 'b' }] },
] as const;

/**
 * All endpoints. The router, the request log's view, the documents and the tests read this table. It holds data
 * only: `service.ts` has a function for each row.
 */
export const ENDPOINTS = {
  listModels: { method: 'GET', path: '/v1/models', isMetered: false, label: 'models' },
  retrieveModel: { method: 'GET', path: '/v1/models/:id{.+}', isMetered: false, label: 'model' },
  chat: {
    method: 'POST',
    path: '/v1/chat/completions',
    isMetered: true,
    label: 'chat',
    streams: true,
    sample: { model: chat, messages, max_tokens: 1 },
  },
  countChat: {
    method: 'POST',
    path: '/v1/chat/completions/input_tokens',
    isMetered: true,
    label: 'token count',
    sample: { model: chat, messages },
  },
  completion: {
    method: 'POST',
    path: '/v1/completions',
    isMetered: true,
    label: 'completion',
    streams: true,
    sample: { model: chat, prompt: 'Hi', max_tokens: 1 },
  },
  response: {
    method: 'POST',
    path: '/v1/responses',
    isMetered: true,
    label: 'response',
    streams: true,
    sample: { model: chat, input: 'Hi', max_output_tokens: 1, store: false },
  },
  countResponse: {
    method: 'POST',
    path: '/v1/responses/input_tokens',
    isMetered: true,
    label: 'token count',
    sample: { model: chat, input: 'Hi' },
  },
  retrieveResponse: {
    method: 'GET',
    // `compact` is an endpoint of OpenAI's, not an id.
    path: '/v1/responses/:id{(?!compact$)[^/]+}',
    isMetered: false,
    label: 'stored response',
  },
  deleteResponse: {
    method: 'DELETE',
    path: '/v1/responses/:id{(?!compact$)[^/]+}',
    isMetered: false,
    label: 'stored response',
  },
  listInputItems: {
    method: 'GET',
    path: '/v1/responses/:id/input_items',
    isMetered: false,
    label: 'stored response',
  },
  transcription: {
    method: 'POST',
    path: '/v1/audio/transcriptions',
    isMetered: true,
    label: 'transcription',
  },
  translation: { method: 'POST', path: '/v1/audio/translations', isMetered: true, label: 'translation' },
  speech: { method: 'POST', path: '/v1/audio/speech', isMetered: true, label: 'speech' },
  decision: {
    method: 'POST',
    path: '/v1/decisions',
    isMetered: true,
    label: 'decisions',
    sample: { model: chat, input: 'Hi', questions },
  },
  embeddings: {
    method: 'POST',
    path: '/v1/embeddings',
    isMetered: false,
    label: 'embeddings',
    sample: { model: 'jade-mole-4', input: 'Hi' },
  },
  rerank: {
    method: 'POST',
    path: '/v1/rerank',
    isMetered: true,
    label: 'rerank',
    sample: { model: 'jade-mole-4', query: 'Hi', documents: ['Hello'] },
  },
  reranking: { method: 'POST', path: '/v1/reranking', isMetered: true, label: 'rerank' },
  // Cohere's clients append `/v2/rerank` to the base URL.
  rerankV2: { method: 'POST', path: '/v1/v2/rerank', isMetered: true, label: 'rerank' },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof ENDPOINTS;

/** The endpoints as a list, in the order of the table. */
export const ALL_ENDPOINTS = Object.entries(ENDPOINTS) as [EndpointName, Endpoint][];

/** Path as people write it: `/v1/models/{id}`. */
export const documentedPath = (path: string): string => path.replace(/:id(\{.*\})?/, '{id}');

/** The endpoints with a JSON body. */
export const SAMPLES = ALL_ENDPOINTS.flatMap(([name, { path, sample, streams = false }]) =>
  sample ? [{ name, path, sample, streams }] : [],
);

/** Short name of a request's path; the path itself if no endpoint has it. */
export const labelOf = (path: string): string =>
  ALL_ENDPOINTS.find(([, each]) => each.path === path)?.[1].label ?? path;
