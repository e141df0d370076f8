import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { ChatEvent, ChatJob } from '../../../../src/jobs/chat.ts';
import type { EmbeddingJob } from '../../../../src/jobs/embedding.ts';
import { runOnServer } from '../../../../src/routing/upstream/upstream-jobs.ts';
import { UpstreamServer } from '../../../../src/routing/upstream/upstream-server.ts';
import { lastOf } from '../../../support/last-of.ts';
import { listen } from '../../../support/listen.ts';
import { failure } from '../../../support/failure.ts';
import { serverVariant } from '../../../support/catalogs.ts';
import { never } from '../../../support/never.ts';

const KEY = 'sk-secret-of-the-site';

interface Asked {
  url: string;
  authorization: string | undefined;
  headers: string[];
  body: Record<string, unknown>;
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

/** A server on loopback that keeps what it was asked, and answers as told; its list of models is always there. */
async function serve(
  answer: Answer,
  list: Answer = (response) => json(response, 200, { object: 'list', data: [] }),
) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const bytes of request) body += String(bytes);
    if (request.url === '/v1/models') return list(response, request);
    const { authorization } = request.headers;
    asked.push({
      url: request.url ?? '',
      authorization,
      headers: Object.keys(request.headers),
      body: JSON.parse(body) as Record<string, unknown>,
    });
    return answer(response, request);
  });
  return { asked, baseUrl: `${await listen(server)}/v1` };
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function stream(response: ServerResponse, chunks: unknown[], done = true): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.end(done ? 'data: [DONE]\n\n' : undefined);
}

const delta = (content: string, more: object = {}) => ({
  choices: [{ index: 0, delta: { content }, finish_reason: null, ...more }],
});
const last = (finish_reason: string) => ({ choices: [{ index: 0, delta: {}, finish_reason }] });
const usage = {
  choices: [],
  usage: { prompt_tokens: 12, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 5 } },
};

function serverAt(baseUrl: string, kind: 'chat' | 'embedding' = 'chat'): UpstreamServer {
  const own = { contextLength: 4096, model: 'their-model' };
  const variant = serverVariant('server', baseUrl, kind === 'chat' ? own : { ...own, dimensions: 2 });
  return new UpstreamServer(variant, KEY, () => undefined);
}

const job = (more: Partial<ChatJob> = {}): ChatJob => ({
  kind: 'chat',
  model: 'ours',
  input: { messages: [{ role: 'user', content: 'hi' }] },
  sampling: { temperature: 0.5, topP: 0.9 },
  ...more,
});

async function run(baseUrl: string, chatJob = job(), signal = never): Promise<ChatEvent[]> {
  const events: ChatEvent[] = [];
  for await (const event of runOnServer(serverAt(baseUrl), chatJob, signal))
    if (event.type !== 'stage') events.push(event);
  return events;
}

test('a request is sent, then computed', async () => {
  const { baseUrl } = await serve((response) => stream(response, [delta('Four.'), last('stop')]));
  const stages = [];
  for await (const event of runOnServer(serverAt(baseUrl), job(), never))
    if (event.type === 'stage') stages.push(event.stage);
  expect(stages).toEqual(['sent', 'prefill']);
});

test.each([
  ['llama.cpp, vLLM and DeepSeek', 'reasoning_content'],
  ['OpenRouter and Ollama', 'reasoning'],
])('thoughts, as %s send them', async (_, field) => {
  const thought = (text: string, more: object = {}) => delta('', { delta: { [field]: text, ...more } });
  const { asked, baseUrl } = await serve((response) =>
    stream(response, [
      delta('', { delta: { role: 'assistant', content: null, [field]: null } }),
      thought('I '),
      thought('add.', { content: 'Fo' }),
      delta('ur.'),
      last('stop'),
      { ...usage, usage: { ...usage.usage, completion_tokens_details: { reasoning_tokens: 2 } } },
    ]),
  );
  const reasoning = { effort: 'low', enableThinking: true } as const;
  const events = await run(baseUrl, job({ reasoning }));
  expect(asked[0]?.body).toMatchObject({
    reasoning_effort: 'low',
    chat_template_kwargs: { enable_thinking: true },
  });
  expect(events.flatMap((event) => (event.type === 'delta' ? [event.delta] : []))).toEqual([
    { text: 'I ', tokens: 1, isReasoning: true },
    { text: 'add.', tokens: 1, isReasoning: true },
    { text: 'Fo', tokens: 1 },
    { text: 'ur.', tokens: 1 },
  ]);
  expect(events.at(-1)).toMatchObject({ usage: { completionTokens: 3, reasoningTokens: 2 } });
});

test("a server gets only the request's own reasoning fields", async () => {
  const { asked, baseUrl } = await serve((response) => stream(response, [delta('a'), last('stop'), usage]));
  await run(baseUrl);
  expect(Object.keys(asked[0]?.body ?? {})).not.toContain('reasoning_effort');
  expect(Object.keys(asked[0]?.body ?? {})).not.toContain('chat_template_kwargs');
});

test('a partial reply is sent as the last message, for the server to continue', async () => {
  const { asked, baseUrl } = await serve((response) => stream(response, [delta('a'), last('stop'), usage]));
  await run(baseUrl, job({ resume: { text: 'One, two', tokens: 0 } }));
  const body = asked[0]?.body as { messages: unknown[] };
  expect(body).toMatchObject({ continue_final_message: true, add_generation_prompt: false });
  expect(body.messages.at(-1)).toEqual({ role: 'assistant', content: 'One, two' });

  // Servers apply a schema to the rest alone.
  const constraint = { kind: 'json_object' } as const;
  await expect(run(baseUrl, job({ constraint, resume: { text: '{', tokens: 0 } }))).rejects.toThrow(
    'continue_final_message',
  );
  const resume = { text: 'So: ', tokens: 0, precedesConstraint: true } as const;
  await run(baseUrl, job({ constraint, resume }));
  expect(asked.at(-1)?.body).toMatchObject({ response_format: { type: 'json_object' } });
});

test('a streamed chat: the request in the server’s names, the reply as events, its usage exact', async () => {
  const logprobs = {
    content: [{ token: 'a', logprob: -0.1, top_logprobs: [{ token: 'a', logprob: -0.1 }] }],
  };
  const { asked, baseUrl } = await serve((response) =>
    stream(response, [
      delta('', { delta: { role: 'assistant' } }),
      delta('a', { logprobs }),
      delta('b'),
      last('length'),
      usage,
    ]),
  );
  const messages = (['system', 'user', 'assistant'] as const).map((role) => ({
    role,
    content: 'hi',
    name: 'ann',
  }));
  const events = await run(
    baseUrl,
    job({
      input: { messages },
      sampling: { temperature: 0.5, topP: 0.9, seed: 7, presencePenalty: 1, logitBias: { '5': -1 } },
      maxTokens: 9,
      topLogprobs: 1,
      constraint: { kind: 'json_schema', schema: '{"type":"object"}' },
    }),
  );
  expect(asked[0]).toMatchObject({
    url: '/v1/chat/completions',
    authorization: `Bearer ${KEY}`,
    body: {
      model: 'their-model',
      messages,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      presence_penalty: 1,
      logit_bias: { '5': -1 },
      max_tokens: 9,
      logprobs: true,
      top_logprobs: 1,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'reply', strict: false, schema: { type: 'object' } },
      },
    },
  });
  expect(asked[0]?.headers.filter((name) => name.startsWith('x-stainless'))).toEqual([]);
  expect(events.map(({ type }) => type)).toEqual(['accepted', 'delta', 'delta', 'done']);
  expect(events[1]).toEqual({
    type: 'delta',
    delta: {
      text: 'a',
      tokens: 1,
      logprobs: [
        { token: 'a', logprob: -0.1, bytes: null, top: [{ token: 'a', logprob: -0.1, bytes: null }] },
      ],
    },
  });
  expect(events[3]).toMatchObject({
    finishReason: 'length',
    usage: { promptTokens: 12, cachedTokens: 5, completionTokens: 3 },
  });
});

test('a raw prompt goes to the legacy endpoint', async () => {
  const { asked, baseUrl } = await serve((response) =>
    stream(response, [{ choices: [{ text: 'x', finish_reason: 'stop' }] }, usage]),
  );
  const events = await run(baseUrl, job({ input: { prompt: 'Once' } }));
  expect(asked[0]).toMatchObject({ url: '/v1/completions', body: { prompt: 'Once' } });
  expect(events[1]).toMatchObject({ delta: { text: 'x' } });
});

const [chosen, other] = [
  { token: 'x', logprob: -0.1, bytes: null },
  { token: 'y', logprob: -2, bytes: null },
];
test.each([
  {
    form: 'OpenAI’s older one',
    logprobs: { tokens: ['x'], token_logprobs: [-0.1], top_logprobs: [{ y: -2 }], text_offset: [0] },
  },
  { form: 'llama.cpp’s', logprobs: { content: [{ ...chosen, top_logprobs: [other] }] } },
])('log probabilities of a raw prompt, in the form of $form', async ({ logprobs }) => {
  const { asked, baseUrl } = await serve((response) =>
    stream(response, [{ choices: [{ text: 'x', logprobs, finish_reason: 'stop' }] }, usage]),
  );
  const events = await run(baseUrl, job({ input: { prompt: 'Once' }, topLogprobs: 1 }));
  expect(asked[0]).toMatchObject({ body: { logprobs: 1 } });
  expect(events[1]).toMatchObject({ delta: { text: 'x', logprobs: [{ ...chosen, top: [other] }] } });
});

test('a schema is strict for the server where the request says so', async () => {
  for (const strict of [true, false, 'keywords'] as const) {
    const { asked, baseUrl } = await serve((response) => stream(response, [delta('a'), last('stop'), usage]));
    const parts = [{ at: [], param: 'response_format', strict }];
    await run(baseUrl, job({ constraint: { kind: 'json_schema', schema: '{"type":"object"}', parts } }));
    expect(asked[0]).toMatchObject({
      body: { response_format: { json_schema: { strict: strict === true } } },
    });
  }
});

/** A reply that never ends; `gone` resolves when its reader has left. */
async function serveEndless() {
  const left = new EventTarget();
  const gone = new Promise((resolve) => left.addEventListener('close', resolve));
  const { baseUrl } = await serve((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(delta('a'))}\n\n`);
    response.on('close', () => left.dispatchEvent(new Event('close')));
  });
  return { baseUrl, gone: () => gone };
}

test('a server counts no tokens beforehand: a 400 that says so, and nothing is sent', async () => {
  const counted = run('http://127.0.0.1:9/v1', { ...job(), countOnly: true });
  expect(await failure(counted)).toMatchObject({ wire: { status: 400, param: 'model' } });
});

test('an abort ends the request at the server', async () => {
  const { baseUrl, gone } = await serveEndless();
  const controller = new AbortController();
  const events = runOnServer(serverAt(baseUrl), job(), controller.signal);
  while ((await events.next()).value?.type !== 'delta');
  controller.abort(new Error('left'));
  expect(await failure(events.next())).toMatchObject({ message: 'left' });
  await gone();
});

test('a reader that leaves ends the request as well', async () => {
  const { baseUrl, gone } = await serveEndless();
  for await (const event of runOnServer(serverAt(baseUrl), job(), never)) if (event.type === 'delta') break;
  await gone();
});

test.each([
  [
    429,
    { error: { message: 'slow down', code: 'rate_limit_exceeded' } },
    { 'retry-after-ms': '1500' },
    { status: 429, type: 'rate_limit_error', retryAfterMs: 1500, message: 'slow down' },
  ],
  [
    429,
    { error: { message: 'slow down' } },
    { 'retry-after': '2' },
    { status: 429, code: 'rate_limit_exceeded', retryAfterMs: 2000 },
  ],
  [
    400,
    { error: { message: `too long, ${KEY}`, code: 'context_length_exceeded', param: 'messages' } },
    {},
    { status: 400, code: 'context_length_exceeded', param: 'messages', message: 'too long, (key)' },
  ],
  [400, { error: `too long, ${KEY}` }, {}, { status: 400, message: 'too long, (key)' }],
  [400, { detail: 'too long' }, {}, { status: 400, message: 'too long' }],
  [400, { object: 'error', message: 'too long', code: 40303 }, {}, { status: 400, message: 'too long' }],
  [401, { error: { message: `Incorrect API key: ${KEY}` } }, {}, { status: 401, code: 'upstream_refused' }],
  [
    503,
    { error: { message: `inside: ${KEY}` } },
    { 'retry-after': '1' },
    { status: 500, code: 'upstream_failed', retryAfterMs: 1000 },
  ],
])('a %i before the reply: %o', async (status, body, headers, wire) => {
  const { baseUrl } = await serve((to) => json(to, status, body, headers as Record<string, string>));
  const thrown = await failure(run(baseUrl));
  expect(thrown).toMatchObject({ wire });
  expect(JSON.stringify(thrown.wire)).not.toContain(KEY);
});

test('an error, and an end, in the middle of the reply', async () => {
  const { baseUrl } = await serve((response) =>
    stream(response, [delta('a'), { error: { message: `boom ${KEY}` } }]),
  );
  expect(await failure(run(baseUrl))).toMatchObject({ wire: { status: 500 } });
  const second = await serve((response) => stream(response, [delta('a')], false));
  expect(await failure(run(second.baseUrl))).toMatchObject({ wire: { code: 'upstream_failed' } });
});

test.each(['abort', 'error', 'insufficient_system_resource'])(
  'a reply that ends with %s is not whole',
  async (reason) => {
    const { baseUrl } = await serve((response) => stream(response, [delta('a'), last(reason)]));
    expect(await failure(run(baseUrl))).toMatchObject({ wire: { code: 'upstream_failed' } });
  },
);

test.each([
  ['length', 'length'],
  ['model_length', 'length'],
  ['content_filter', 'content_filter'],
  ['stop', 'stop'],
  ['tool_calls', 'stop'],
  ['eos_token', 'stop'],
])('a reply that ends with %s has the finish reason %s', async (reason, finishReason) => {
  const { baseUrl } = await serve((response) => stream(response, [delta('a'), last(reason)]));
  expect((await run(baseUrl)).at(-1)).toMatchObject({ type: 'done', finishReason });
});

test('a server that is down, or refuses the key, is known by its list of models', async () => {
  expect(await failure(serverAt('http://127.0.0.1:9/v1').probe(null, true))).toMatchObject({
    wire: { code: 'upstream_unavailable' },
  });
  const { baseUrl } = await serve(
    () => undefined,
    (response) => json(response, 401, { error: { message: 'no' } }),
  );
  expect(await failure(serverAt(baseUrl).probe(null, true))).toMatchObject({
    wire: { code: 'upstream_refused' },
  });
});

test('a server without a list of models will do', async () => {
  const { baseUrl } = await serve(
    (response) => stream(response, [delta('a'), last('stop')]),
    (response) => json(response, 404, { error: { message: 'no' } }),
  );
  await serverAt(baseUrl).probe(null, true);
  expect((await run(baseUrl)).at(-1)).toMatchObject({ finishReason: 'stop', usage: { completionTokens: 1 } });
});

test('events are parsed from any chunks and line ends', async () => {
  const text = 'ä🙂';
  const { baseUrl } = await serve(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const events = [
      ': a comment',
      `data: ${JSON.stringify(delta(text))}`,
      `data:${JSON.stringify(last('stop'))}`,
    ];
    const bytes = Buffer.from(`${events.join('\r\n\r\n')}\r\n\r\ndata: [DONE]`);
    for (const byte of bytes) {
      response.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  const events = await run(baseUrl);
  expect(events[1]).toMatchObject({ delta: { text } });
  expect(events.at(-1)).toMatchObject({ type: 'done', finishReason: 'stop' });
});

test('grammars, which no server takes, are refused', async () => {
  const { asked, baseUrl } = await serve(() => undefined);
  expect(
    await failure(run(baseUrl, job({ constraint: { kind: 'grammar', gbnf: 'root ::= "a"' } }))),
  ).toMatchObject({ wire: { status: 400, param: 'response_format' } });
  expect(asked).toEqual([]);
});

test('embeddings that a server did not shorten are refused by name', async () => {
  const { baseUrl } = await serve((response) =>
    json(response, 200, {
      data: [{ index: 0, embedding: [3, 4] }],
      usage: { prompt_tokens: 4, total_tokens: 4 },
    }),
  );
  const shorter: EmbeddingJob = { kind: 'embedding', model: 'm', input: { texts: ['a'] }, dimensions: 1 };
  expect(await failure(lastOf(runOnServer(serverAt(baseUrl, 'embedding'), shorter, never)))).toMatchObject({
    wire: { status: 400, param: 'dimensions', code: 'unsupported_value' },
  });
});

test('embeddings: in order, and of length 1', async () => {
  const { asked, baseUrl } = await serve((response) =>
    json(response, 200, {
      data: [
        { index: 1, embedding: [0, 2] },
        { index: 0, embedding: [3, 4] },
      ],
      usage: { prompt_tokens: 4, total_tokens: 4 },
    }),
  );
  const embed = (more: Partial<EmbeddingJob>) =>
    lastOf(
      runOnServer(
        serverAt(baseUrl, 'embedding'),
        { kind: 'embedding', model: 'm', input: { texts: ['a'] }, ...more },
        never,
      ),
    );
  const event = await embed({ input: { texts: ['a', 'b'] }, dimensions: 2 });
  if (event.type === 'stage') throw new Error('no vectors came');
  const { vectors, promptTokens } = event;
  expect(vectors.map((vector) => [...vector].map((value) => Number(value.toFixed(4))))).toEqual([
    [0.6, 0.8],
    [0, 1],
  ]);
  expect(promptTokens).toBe(4);
  expect(asked[0]?.body).toEqual({
    model: 'their-model',
    input: ['a', 'b'],
    encoding_format: 'float',
    dimensions: 2,
  });
  expect(await failure(embed({}))).toMatchObject({ wire: { code: 'upstream_failed' } });
});
