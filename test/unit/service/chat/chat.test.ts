import type OpenAI from 'openai';
import { describe, expect, test, vi } from 'vitest';
import { ServiceError } from '../../../../src/base/errors/service-error.ts';
import { FakeEngine, type FakeReply, QUEUE_FULL } from '../../../support/fake-engine.ts';
import { chat, fakeService } from '../../../support/fake-service.ts';
import { eventsOf } from '../../../support/server-sent-events.ts';
import { virtualTime } from '../../../support/virtual-time.ts';

const PATH = '/v1/chat/completions';
const light = { type: 'object', properties: { mode: { enum: ['on', 'off'] } }, required: ['mode'] };
const completion = async (response: Response) => (await response.json()) as OpenAI.ChatCompletion;
const chunksOf = (text: string) =>
  eventsOf(text)
    .filter((event) => event !== '[DONE]')
    .map((event) => JSON.parse(event) as OpenAI.ChatCompletionChunk);
const textOf = (chunks: OpenAI.ChatCompletionChunk[], index = 0) =>
  chunks
    .flatMap((chunk) => chunk.choices)
    .filter((choice) => choice.index === index)
    .map((choice) => choice.delta.content ?? '')
    .join('');
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a reply in one piece', () => {
  test('counts the prompt once and the replies of all choices', async () => {
    const { fetch, engine } = await fakeService();
    const answer = await completion(await fetch(PATH, chat({ n: 3, seed: 5 })));
    expect(answer.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, 'Hello, world!'],
      [1, 'Hello, world!'],
      [2, 'Hello, world!'],
    ]);
    expect(answer.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 12, total_tokens: 19 });
    expect(engine.jobs.map((job) => job.kind === 'chat' && job.sampling.seed)).toEqual([5, 6, 7]);
    expect(new Set(engine.ids).size).toBe(3);
  });

  test('a stop sequence across tokens is cut, and the engine stopped', async () => {
    const engine = new FakeEngine({ deltas: ['one ST', 'O', 'P two', ' three', ' four'] });
    const { fetch } = await fakeService({ engine });
    const answer = await completion(await fetch(PATH, chat({ stop: ['STOP', 'never'] })));
    expect(answer.choices[0]?.message.content).toBe('one ');
    expect(answer.choices[0]?.finish_reason).toBe('stop');
    expect(answer.usage?.completion_tokens).toBe(3);
    expect([engine.yielded, engine.running]).toEqual([3, 0]);
  });

  test('a failure of one choice is the answer, and frees the others', async () => {
    const refuse = new ServiceError({
      status: 429,
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
      param: null,
      message: 'The queue is full.',
      retryAfterMs: 1500,
    });
    const engine = new FakeEngine((_, index) =>
      index === 1 ? { refuse, acceptAfterMs: 10 } : { delayMs: 500, deltas: ['a', 'b'] },
    );
    const { fetch } = await fakeService({ engine });
    const response = await fetch(PATH, chat({ n: 2 }));
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('2');
    expect(response.headers.get('retry-after-ms')).toBe('1500');
    await expect.poll(() => engine.running).toBe(0);
  });

  test('a failure that is not ours is a 500 that tells nothing of the inside', async () => {
    const { fetch } = await fakeService({
      engine: new FakeEngine({ refuse: new Error('secret /home/path') }),
    });
    const response = await fetch(PATH, chat());
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(text).not.toContain('secret');
    expect(JSON.parse(text).error).toMatchObject({
      type: 'server_error',
      param: null,
      code: 'internal_error',
    });
  });

  test('the cached part of the prompt is that of the first choice', async () => {
    const engine = new FakeEngine((_, index) => ({ cachedTokens: index === 0 ? 2 : 7 }));
    const { fetch } = await fakeService({ engine });
    const { usage } = await completion(await fetch(PATH, chat({ n: 2 })));
    expect(usage?.prompt_tokens_details?.cached_tokens).toBe(2);
  });

  test('every token has its log probability, also those that gave no character', async () => {
    const engine = new FakeEngine({ deltas: ['', '', '🦉', 'E'] });
    const { fetch } = await fakeService({ engine });
    const { choices } = await completion(await fetch(PATH, chat({ stop: 'END', logprobs: true })));
    expect(choices[0]?.message.content).toBe('🦉E');
    expect(choices[0]?.logprobs?.content).toHaveLength(4);
  });
});

describe('a streamed reply', () => {
  test('choices come interleaved, each whole', async () => {
    const engine = new FakeEngine((_, index) => ({
      deltas: [`${index}a`, `${index}b`, `${index}c`],
      delayMs: 10,
    }));
    const { fetch } = await fakeService({ engine });
    const chunks = chunksOf(await (await fetch(PATH, chat({ stream: true, n: 2 }))).text());
    expect([textOf(chunks, 0), textOf(chunks, 1)]).toEqual(['0a0b0c', '1a1b1c']);
    const order = chunks.flatMap((chunk) => chunk.choices).map((choice) => choice.index);
    expect(order.lastIndexOf(0)).toBeGreaterThan(order.indexOf(1));
  });

  test('choices take turns, however fast each is', async () => {
    const deltas = Array.from({ length: 20 }, () => 'x');
    const { fetch } = await fakeService({ engine: new FakeEngine({ deltas }) });
    const chunks = chunksOf(await (await fetch(PATH, chat({ stream: true, n: 4 }))).text());
    const order = chunks.flatMap((chunk) => chunk.choices).map((choice) => choice.index);
    for (let at = 0; at + 8 <= order.length; at += 8)
      expect(new Set(order.slice(at, at + 8)), `from ${at}`).toEqual(new Set([0, 1, 2, 3]));
  });

  test('an engine that just ends is an error, not a whole reply', async () => {
    const { fetch } = await fakeService({ engine: new FakeEngine({ deltas: ['a'], breakOff: true }) });
    const events = eventsOf(await (await fetch(PATH, chat({ stream: true }))).text());
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ error: { code: 'engine_lost' } });
  });
});

describe('the heartbeat', () => {
  virtualTime();

  test('goes on until the first token, also once the engine has taken the request', async () => {
    const engine = new FakeEngine({ deltas: ['one', 'two'], delayMs: 16_000 });
    const { fetch } = await fakeService({ engine });
    const text = await (await fetch(PATH, chat({ stream: true }))).text();
    const [before = '', ...after] = text.split('"content":"one"');
    expect(before.split(': waiting (prefill)').length).toBeGreaterThan(2);
    expect(after.join('')).not.toContain(': waiting');
  });

  test('and again while another engine takes over in the middle', async () => {
    const engine = new FakeEngine({
      deltas: ['one', 'two', 'three'],
      handOver: { after: 1, loadMs: 16_000 },
    });
    const { fetch } = await fakeService({ engine });
    const text = await (await fetch(PATH, chat({ stream: true }))).text();
    const between = text.slice(text.indexOf('"content":"one"'), text.indexOf('"content":"two"'));
    expect(between.split(': waiting (loading)\n\n').length).toBeGreaterThan(2);
    expect(text.slice(text.indexOf('"content":"two"'))).not.toContain(': waiting');
    expect(textOf(chunksOf(text))).toBe('onetwothree');
  });
});

test.each([
  { guided_json: light },
  { json_schema: light },
  { structured_outputs: { json: light, regex: null, disable_fallback: false } },
  { response_format: { type: 'json_object', schema: light } },
  { response_format: { type: 'json_object', value: light } },
])('a JSON schema under the name of another server is enforced: %j', async (extra) => {
  const { fetch, engine } = await fakeService();
  expect((await fetch(PATH, chat(extra))).status).toBe(200);
  expect(engine.jobs).toMatchObject([{ constraint: { kind: 'json_schema', schema: JSON.stringify(light) } }]);
});

test.each([
  [{ guided_json: { type: 'object' } }, 'keywords', 'guided_json'],
  [{ response_format: { type: 'json_object', schema: { type: 'object' } } }, false, 'response_format.schema'],
  [{ response_format: { type: 'json_object', value: { type: 'object' } } }, false, 'response_format.value'],
])('the schema of %j is strict as %j, and is named %s', async (extra, strict, param) => {
  const { fetch, engine } = await fakeService();
  await fetch(PATH, chat(extra));
  expect(engine.jobs).toMatchObject([{ constraint: { parts: [{ strict, param }] } }]);
});

describe('a prompt that does not fit', () => {
  const refuse = new ServiceError({
    status: 400,
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    param: 'messages',
    message: 'Too long. Shorten the messages.',
  });

  test('is named as the endpoint names it', async () => {
    const { fetch, engine } = await fakeService({ engine: new FakeEngine({ refuse }) });
    engine.embedding = { refuse };
    const model = 'amber-phoenix-4';
    const errorOf = async (path: string, json: unknown) => (await (await fetch(path, { json })).json()).error;
    expect(await errorOf('/v1/completions', { model, prompt: 'a' })).toMatchObject({
      param: 'prompt',
      message: 'Too long. Shorten the prompt.',
    });
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const messages = [{ role: 'user', content: 'a' }];
    expect(await errorOf(PATH, { model, messages, tools })).toMatchObject({
      message: 'Too long. Shorten the messages or `tools`.',
    });
    const questions = [{ type: 'predicate', instructions: 'b' }];
    expect(await errorOf('/v1/decisions', { model, input: 'a', questions })).toMatchObject({
      param: 'input',
      message: 'Too long. Shorten the input or the questions.',
    });
    expect(await errorOf('/v1/responses', { model, input: 'a', stream: true })).toMatchObject({
      param: 'input',
      message: expect.stringContaining('Shorten the input.') as string,
    });
  });
});

describe('a request of many choices', () => {
  test.each([
    ['texts', { deltas: Array.from({ length: 5 }, () => 'a'.repeat(2 ** 20)) }, {}],
    [
      'log probabilities',
      { thoughts: ['a'.repeat(2 ** 22 - 60_000)], deltas: [...'a'.repeat(50)] },
      { logprobs: true, top_logprobs: 20 },
    ],
  ])('in one piece has one bound for its %s', async (_, reply, more) => {
    const { fetch, engine } = await fakeService({ engine: new FakeEngine(reply) });
    const response = await fetch(PATH, chat({ n: 16, ...more }));
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('exceeds 64 MB')]);
    await expect.poll(() => engine.running).toBe(0);
  });

  test('a later choice that meets a full queue waits for its turn', async () => {
    const engine = new FakeEngine((_, index) => (index >= 4 && index < 8 ? { refuse: QUEUE_FULL } : {}));
    const { fetch } = await fakeService({ engine });
    const { choices } = await completion(await fetch(PATH, chat({ n: 6 })));
    expect(choices.map(({ message }) => message.content)).toEqual(
      Array.from({ length: 6 }, () => 'Hello, world!'),
    );
    expect(engine.jobs.length).toBe(10);
  });

  test('a later choice that a server refuses for its own limit is the answer', async () => {
    const { isQueueFull: _, ...limit } = QUEUE_FULL.wire;
    const engine = new FakeEngine((__, index) =>
      index >= 4 ? { refuse: new ServiceError({ ...limit, retryAfterMs: 0 }) } : {},
    );
    const { fetch } = await fakeService({ engine });
    expect((await fetch(PATH, chat({ n: 6 }))).status).toBe(429);
    expect(engine.jobs.length).toBeLessThan(8);
  });

  test('a client that leaves meanwhile is waited for no longer', async () => {
    const engine = new FakeEngine((_, index) => (index >= 4 ? { refuse: QUEUE_FULL } : {}));
    const { fetch } = await fakeService({ engine });
    const left = new AbortController();
    const answer = fetch(PATH, { ...chat({ n: 5 }), signal: left.signal });
    setTimeout(() => left.abort(), 20);
    await expect(answer).rejects.toThrow(/abort/i);
    await sleep(30);
    const asked = engine.jobs.length;
    await sleep(30);
    expect(engine.jobs.length).toBe(asked);
  });
});

test('Server-Timing tells where the time went', async () => {
  const { fetch } = await fakeService({ engine: new FakeEngine({ acceptAfterMs: 20, delayMs: 20 }) });
  const header = (await fetch(PATH, chat())).headers.get('server-timing');
  expect(header).toMatch(/^queue;dur=1, prefill;dur=2, decode;dur=3, total;dur=[\d.]+$/);
  expect((await fetch('/v1/models')).headers.get('server-timing')).toMatch(/^total;dur=[\d.]+$/);
  const embedded = await fetch('/v1/embeddings', { json: { model: 'jade-mole-4', input: 'sea' } });
  expect(embedded.headers.get('server-timing')).toMatch(
    /^queue;dur=[\d.]+, compute;dur=[\d.]+, total;dur=[\d.]+$/,
  );
});

const slow = (reply: FakeReply = {}) =>
  new FakeEngine({ deltas: Array.from({ length: 500 }, () => 'x'), delayMs: 5, ...reply });

describe('a client that leaves', () => {
  test.each([
    ['mid-stream', {}],
    ['before the first token of a stream', { waiting: 'prefill' as const, acceptAfterMs: 500 }],
  ])('%s frees the engine', async (_, reply) => {
    const engine = slow(reply);
    const { fetch } = await fakeService({ engine });
    const response = await fetch(PATH, chat({ stream: true }));
    await response.body?.cancel();
    await expect.poll(() => [engine.running, engine.aborted]).toEqual([0, 1]);
  });

  test('before the headers, where its signal is seen, rejects with its reason', async () => {
    const engine = slow();
    const { fetch } = await fakeService({ engine });
    const controller = new AbortController();
    const answer = fetch(PATH, { ...chat(), signal: controller.signal });
    setTimeout(() => controller.abort(), 3);
    await expect(answer).rejects.toThrow(/abort/i);
    await expect.poll(() => engine.running).toBe(0);
  });

  test.each([
    ['mid-stream', {}],
    ['while nothing is read', { delayMs: 0 }],
  ])('%s, and whose stream no one cancels, frees the engine', async (_, reply) => {
    const engine = slow(reply);
    const { service, key } = await fakeService({ engine });
    const gone = new AbortController();
    const stop = vi.fn();
    const { json } = chat({ stream: true });
    const request = new Request(`https://site.example${PATH}`, {
      method: 'POST',
      body: JSON.stringify(json),
      headers: { authorization: `Bearer ${key}` },
    });
    await service(request, null, { gone: gone.signal, stop });
    await sleep(20);
    expect([engine.running, stop.mock.calls.length]).toEqual([1, 0]);
    gone.abort();
    await expect.poll(() => [engine.running, engine.aborted, stop.mock.calls.length]).toEqual([0, 1, 1]);
  });

  test('is watched until its answer ends', async () => {
    const { service, key } = await fakeService();
    const watched = async (json: object): Promise<[Response, () => number]> => {
      const stop = vi.fn();
      const request = new Request(`https://site.example${PATH}`, {
        method: 'POST',
        body: JSON.stringify(json),
        headers: { authorization: `Bearer ${key}` },
      });
      const watch = { gone: new AbortController().signal, stop };
      return [await service(request, null, watch), () => stop.mock.calls.length];
    };
    for (const json of [chat().json, chat({ temperature: 9 }).json])
      expect((await watched(json))[1]()).toBe(1);
    const [streamed, stops] = await watched(chat({ stream: true }).json);
    await streamed.text();
    expect(stops()).toBe(1);
  });

  test('a reader that does not read makes the engine wait', async () => {
    const engine = new FakeEngine({ deltas: Array.from({ length: 2000 }, () => 'x') });
    const { fetch } = await fakeService({ engine });
    const response = await fetch(PATH, chat({ stream: true }));
    await sleep(200);
    expect(engine.yielded).toBeLessThan(100);
    await response.body?.cancel();
    await expect.poll(() => engine.running).toBe(0);
  });
});

describe('continue_final_message', () => {
  const started = [
    { role: 'user', content: 'Count.' },
    { role: 'assistant', content: 'One, two' },
  ];

  test('makes the last message the beginning of the reply', async () => {
    const { fetch, engine } = await fakeService();
    await fetch(PATH, chat({ messages: started, continue_final_message: true }));
    expect(engine.jobs[0]).toMatchObject({
      input: { messages: [{ role: 'user', content: 'Count.' }] },
      resume: { text: 'One, two', tokens: 0 },
    });
  });

  test('takes a schema of the whole message', async () => {
    const { fetch, engine } = await fakeService();
    await fetch(PATH, chat({ messages: started, continue_final_message: true, guided_json: light }));
    expect(engine.jobs[0]).toMatchObject({
      resume: { text: 'One, two' },
      constraint: { kind: 'json_schema' },
    });
  });

  const tools = [{ type: 'function', function: { name: 'f' } }];

  test('a call may follow the text, with a constraint for the call alone', async () => {
    const call = '[{"name":"f","arguments":{}}]';
    const engine = new FakeEngine({ deltas: [...call] });
    const { fetch } = await fakeService({ engine });
    const body = { messages: started, tools, continue_final_message: true };
    const { choices } = await completion(await fetch(PATH, chat(body)));
    expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'f' } }]);
    expect(engine.jobs.at(-1)).toMatchObject({
      resume: { text: 'One, two', precedesConstraint: true },
      constraint: { kind: 'json_schema' },
    });
  });

  test('a list that continues an answer under a schema is no call', async () => {
    const { fetch } = await fakeService({
      engine: new FakeEngine({ deltas: ['[1'], finishReason: 'length' }),
    });
    const messages = [started[0], { role: 'assistant', content: '{"list": ' }];
    const body = { messages, tools, continue_final_message: true, response_format: { type: 'json_object' } };
    const { choices } = await completion(await fetch(PATH, chat(body)));
    expect(choices[0]?.message).toMatchObject({ content: '[1' });
  });

  test('an assistant message is followed by a new one without it', async () => {
    const { fetch, engine } = await fakeService();
    await fetch(PATH, chat({ messages: started, continue_final_message: false }));
    expect(engine.jobs[0]).toMatchObject({ input: { messages: started } });
    expect(engine.jobs[0]).not.toHaveProperty('resume');
  });

  test.each([
    [{ messages: started.slice(0, 1) }, 'messages'],
    [{ messages: started.slice(1) }, 'messages'],
    [
      { messages: started, tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' },
      'continue_final_message',
    ],
  ])('is refused with %j', async (body, param) => {
    const { fetch } = await fakeService();
    const response = await fetch(PATH, chat({ ...body, continue_final_message: true }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param } });
  });
});
