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

/** `compact` is an endpoint of OpenAI's, not an id. */
const RESPONSE = '/v1/responses/:id{(?!compact$)[^/]+}';

type Sample = NonNullable<Endpoint['sample']>;
const post = (path: string, label: string) => ({ method: 'POST', path, isMetered: true, label }) as const;
const job = <S extends Sample>(path: string, label: string, sample: S) => ({ ...post(path, label), sample });
const text = <S extends Sample>(path: string, label: string, sample: S) =>
  ({ ...job(path, label, sample), streams: true }) as const;
const stored = (method: Endpoint['method'], path: string) =>
  ({ method, path, isMetered: false, label: 'stored response' }) as const;

/**
 * All endpoints. The router, the request log's view, the documents and the tests read this table. It holds data
 * only: `service.ts` has a function for each row.
 */
export const ENDPOINTS = {
  listModels: { method: 'GET', path: '/v1/models', isMetered: false, label: 'models' },
  retrieveModel: { method: 'GET', path: '/v1/models/:id{.+}', isMetered: false, label: 'model' },
  chat: text('/v1/chat/completions', 'chat', { model: chat, messages, max_tokens: 1 }),
  countChat: job('/v1/chat/completions/input_tokens', 'token count', { model: chat, messages }),
  completion: text('/v1/completions', 'completion', { model: chat, prompt: 'Hi', max_tokens: 1 }),
  response: text('/v1/responses', 'response', {
    model: chat,
    input: 'Hi',
    max_output_tokens: 1,
    store: false,
  }),
  countResponse: job('/v1/responses/input_tokens', 'token count', { model: chat, input: 'Hi' }),
  retrieveResponse: stored('GET', RESPONSE),
  deleteResponse: stored('DELETE', RESPONSE),
  listInputItems: stored('GET', '/v1/responses/:id/input_items'),
  cancelResponse: stored('POST', '/v1/responses/:id/cancel'),
  transcription: post('/v1/audio/transcriptions', 'transcription'),
  translation: post('/v1/audio/translations', 'translation'),
  speech: post('/v1/audio/speech', 'speech'),
  decision: job('/v1/decisions', 'decisions', { model: chat, input: 'Hi', questions }),
  embeddings: {
    ...job('/v1/embeddings', 'embeddings', { model: 'jade-mole-4', input: 'Hi' }),
    isMetered: false,
  },
  rerank: job('/v1/rerank', 'rerank', { model: 'jade-mole-4', query: 'Hi', documents: ['Hello'] }),
  reranking: post('/v1/reranking', 'rerank'),
  // Cohere's clients append `/v2/rerank` to the base URL.
  rerankV2: post('/v1/v2/rerank', 'rerank'),
} satisfies Record<string, Endpoint>;

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
