/** A request as a page sends it. */
export interface SoakRequest {
  path: string;
  /** None: a GET. */
  body?: Record<string, unknown>;
  /** The status of the error that must come; none: an answer must. */
  fails?: number;
}

const model = 'amber-phoenix-4';
const messages = [{ role: 'user', content: 'Count from one to ten in words.' }];
const chat = (extra: Record<string, unknown> = {}): SoakRequest => ({
  path: '/chat/completions',
  body: { model, messages, max_tokens: 8, ...extra },
});
const schema = {
  type: 'object',
  properties: { animal: { type: 'string', enum: ['cat', 'dog'] }, legs: { type: 'integer', enum: [2, 4] } },
  required: ['animal', 'legs'],
  additionalProperties: false,
};
const animal = { type: 'function', function: { name: 'animal', parameters: schema } };
const texts = (count: number) => Array.from({ length: count }, (_, index) => `The weather on day ${index}.`);

/** Requests of an application that uses all of the service, by name. */
export const REQUESTS: Record<string, SoakRequest> = {
  'chat, streamed': chat({ stream: true }),
  'chat, streamed, longer': chat({ stream: true, max_tokens: 16 }),
  'chat, streamed, two choices': chat({ stream: true, n: 2, max_tokens: 6 }),
  chat: chat(),
  'chat, two choices': chat({ n: 2, max_tokens: 6 }),
  'chat, log probabilities': chat({ logprobs: true, top_logprobs: 2, max_tokens: 4 }),
  'chat, schema': chat({
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict: true } },
    max_tokens: 24,
  }),
  'chat, function, streamed': chat({
    stream: true,
    tools: [animal],
    tool_choice: 'required',
    max_tokens: 24,
  }),
  completion: { path: '/completions', body: { model, prompt: 'One, two,', max_tokens: 6 } },
  'response, streamed': {
    path: '/responses',
    body: { model, input: 'Hello.', max_output_tokens: 6, stream: true },
  },
  response: { path: '/responses', body: { model, input: 'Hello.', max_output_tokens: 6 } },
  embeddings: { path: '/embeddings', body: { model: 'jade-mole-4', input: texts(2) } },
  'embeddings, many': { path: '/embeddings', body: { model: 'jade-mole-4', input: texts(16) } },
  models: { path: '/models' },
  'prompt too long': {
    ...chat({ messages: [{ role: 'user', content: 'owl '.repeat(20_000) }] }),
    fails: 400,
  },
  'unknown model': { ...chat({ model: 'nobody' }), fails: 404 },
};
