import { createServer, type ServerResponse } from 'node:http';
import { beforeEach, expect, test, vi } from 'vitest';
import type { VariantOf } from '../../../../src/catalog/catalog.ts';
import type { ChatEvent, ChatJob, ChatMessage } from '../../../../src/jobs/chat.ts';
import { lastOf } from '../../../support/last-of.ts';
import type { EmbeddingJob } from '../../../../src/jobs/embedding.ts';
import { runOnServer } from '../../../../src/routing/upstream/upstream-jobs.ts';
import { UpstreamServer } from '../../../../src/routing/upstream/upstream-server.ts';
import { listen } from '../../../support/listen.ts';
import { serverVariant } from '../../../support/catalogs.ts';
import { chatJob } from '../../../support/chat-job.ts';
import { never } from '../../../support/never.ts';

const MIB = 1024 * 1024;

let answer: (response: ServerResponse) => void;
let asked = 0;
/** Bytes that the server could send before its client left, or it ended. */
let sent = 0;
let baseUrl = '';

beforeEach(async () => {
  sent = 0;
  asked = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.url === '/v1/models') return void response.end('{"data":[]}');
      asked++;
      answer(response);
    });
  });
  baseUrl = `${await listen(server)}/v1`;
});

function serverAt(more: Partial<VariantOf<'upstream'>> = {}): UpstreamServer {
  const variant = serverVariant('server', baseUrl, { contextLength: 4096, ...more });
  return new UpstreamServer(variant, undefined, () => {});
}

const jobOf = (prompt: string | ChatJob['input']): ChatJob =>
  chatJob({ input: typeof prompt === 'string' ? { messages: [{ role: 'user', content: prompt }] } : prompt });

async function ask(
  prompt: string | ChatJob['input'] = 'hi',
  more: Partial<VariantOf<'upstream'>> = {},
): Promise<ChatEvent[]> {
  const events: ChatEvent[] = [];
  for await (const event of runOnServer(serverAt(more), jobOf(prompt), never))
    if (event.type !== 'stage') events.push(event);
  return events;
}

const embed = (texts = ['some text'], dimensions = 2) => {
  const job: EmbeddingJob = { kind: 'embedding', model: 'm', input: { texts } };
  return lastOf(runOnServer(serverAt(dimensions > 0 ? { dimensions } : {}), job, never));
};

const failed = (message: RegExp) => ({
  wire: { status: 500, code: 'upstream_failed', message: expect.stringMatching(message) as string },
});

/** Sends blocks as fast as the client reads them, until it leaves or `most` bytes are sent. */
function pour(response: ServerResponse, block: string, most = Number.POSITIVE_INFINITY): void {
  const push = (): void => {
    while (sent < most && !response.destroyed) {
      sent += block.length;
      if (!response.write(block)) return void response.once('drain', push);
    }
    if (sent >= most) response.end();
  };
  push();
}

const event = (chunk: unknown): string => `data: ${JSON.stringify(chunk)}\n\n`;
const delta = (content: unknown, more: object = {}): string =>
  event({ choices: [{ index: 0, delta: { content }, finish_reason: null, ...more }] });
const end = (usage?: unknown): string =>
  `${event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}${event({ choices: [], usage })}data: [DONE]\n\n`;
/** Answers with the events that `send` writes. */
const streams = (send: (response: ServerResponse) => unknown) =>
  void (answer = (response) => send(response.writeHead(200, { 'content-type': 'text/event-stream' })));
const stream = (...events: string[]) => streams((response) => response.end(events.join('')));

test.each([
  ['one line without an end', 'data: ', 'a'.repeat(65_536), /event of more than 262144 characters/],
  ['one line of an unknown field', '', 'a'.repeat(65_536), /event of more than 262144 characters/],
  ['one event of endless lines', '', 'data: a\n'.repeat(5000), /event of more than 262144 characters/],
  ['a flood of comments', '', ': ping\n\n'.repeat(5000), /more than 8388608 bytes without progress/],
  ['a flood without text', delta('a'), delta('').repeat(500), /more than 8388608 bytes without progress/],
])('%s ends the request after some megabytes at most', async (_, first, block, says) => {
  streams((response) => {
    response.write(first);
    pour(response, block);
  });
  await expect(ask()).rejects.toMatchObject(failed(says));
  expect(sent).toBeLessThan(24 * MIB);
});

test('a stream that never ends is left at 64 MiB, and others have their turn meanwhile', async () => {
  streams((response) => {
    pour(response, delta('a', { filler: 'a'.repeat(200_000) }));
  });
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await expect(ask())
    .rejects.toMatchObject(failed(/more than 67108864 bytes/))
    .finally(() => clearInterval(timer));
  expect(turns).toBeGreaterThan(10);
});

test.each<[string, Partial<ChatJob>, object, number]>([
  ['its context', {}, { content: 'word '.repeat(100) }, 4096],
  ['what was asked for', { maxTokens: 10 }, { content: 'word '.repeat(100) }, 10],
  ['its context, in thoughts', { maxTokens: 10 }, { reasoning: 'word '.repeat(100) }, 4096],
])('a reply without end is left once it is longer than %s', async (_, more, given, tokens) => {
  streams((response) => pour(response, event({ choices: [{ delta: given }] }).repeat(10), 32 * MIB));
  let characters = 0;
  const read = async (): Promise<void> => {
    for await (const each of runOnServer(serverAt(), { ...chatJob(), ...more }, never))
      if (each.type === 'delta') characters += each.delta.text.length;
  };
  await expect(read()).rejects.toMatchObject(failed(/did not end its reply/));
  expect(characters).toBeGreaterThan(tokens * 16);
  expect(characters).toBeLessThan(tokens * 32 + 8192);
});

test('an error of 50 MB is read to 64 KiB, and none of it reaches the caller', async () => {
  answer = (response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.write('{"error":{"message":"');
    pour(response, 'a'.repeat(65_536), 50 * MIB);
  };
  const error = (await ask().catch((reason: unknown) => reason)) as Error;
  expect(error).toMatchObject(failed(/more than 65536 bytes/));
  expect(error.message.length).toBeLessThan(200);
  expect(sent).toBeLessThan(16 * MIB);
});

test('what a server says of an error is cut, and has no control characters', async () => {
  answer = (response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    const error = { message: `a\u0007b\r\n${'c'.repeat(5000)}`, code: 'x y'.repeat(100), param: {} };
    response.end(JSON.stringify({ error }));
  };
  const { wire } = (await ask().catch((reason: unknown) => reason)) as { wire: Record<string, unknown> };
  expect(wire).toEqual({
    status: 400,
    passOn: false,
    type: 'invalid_request_error',
    code: null,
    param: null,
    message: `a b ${'c'.repeat(996)}`,
  });
});

test('a server cannot ask for a pause without end', async () => {
  answer = (response) => response.writeHead(429, { 'retry-after-ms': '1e300' }).end('{}');
  await expect(ask()).rejects.toMatchObject({ wire: { status: 429, retryAfterMs: 3_600_000 } });
  answer = (response) => response.writeHead(429, { 'retry-after-ms': '-5' }).end('{}');
  await expect(ask()).rejects.toMatchObject({ wire: { status: 429, retryAfterMs: 0 } });
});

test.each([
  ['fewer tokens than the text has', 'word '.repeat(5000), 0, 6250],
  ['more than it can have', 'hi', 4000, 1],
])('a server that counts %s', async (_, text, told, counted) => {
  stream(delta(text), end({ prompt_tokens: 7, completion_tokens: told }));
  const events = await ask('p'.repeat(400));
  // The prompt has 100 tokens, of which a client that leaves early pays, too.
  expect(events[0]).toMatchObject({ accepted: { promptTokens: 100 } });
  expect(events.at(-1)).toMatchObject({ usage: { promptTokens: 100, completionTokens: counted } });
});

test('a prompt of tool calls has the tokens that its server counts', async () => {
  const json = JSON.stringify({ a: 'word '.repeat(4000) });
  const calls = [{ id: 'a', name: 'f', arguments: json }];
  stream(delta('a'), end({ prompt_tokens: 9000, completion_tokens: 1 }));
  const messages: ChatMessage[] = [
    { role: 'assistant', content: '', toolCalls: calls },
    { role: 'tool', toolCallId: 'a', content: 'ok' },
  ];
  const counted = { contextLength: 16_384 };
  expect((await ask({ messages }, counted)).at(-1)).toMatchObject({ usage: { promptTokens: 9000 } });
});

test.each([
  ['negative and text', { prompt_tokens: -1e9, completion_tokens: 'many' }],
  ['too many', { prompt_tokens: 1e9, completion_tokens: Number.MAX_SAFE_INTEGER }],
  ['fractions', { prompt_tokens: 0.5, completion_tokens: 1.5 }],
  ['none', {}],
  ['an empty prompt', { prompt_tokens: 0, completion_tokens: 0 }],
  ['null', null],
  ['a list', [1, 2]],
  ['details of numbers', { prompt_tokens_details: 5, completion_tokens_details: { reasoning_tokens: -1 } }],
])('a usage that cannot be true (%s) is counted here', async (_, usage) => {
  stream(delta('a'), delta('b'), end(usage));
  const prompt = 'x'.repeat(400);
  expect((await ask(prompt)).at(-1)).toMatchObject({
    usage: { promptTokens: 100, cachedTokens: 0, completionTokens: 2 },
  });
});

const empty = Array.from({ length: 1024 }, () => ({ token: '', logprob: 0 }));
test('tokens without a text are not counted for a reply that breaks off', async () => {
  stream(
    delta('ab', { logprobs: { content: empty } }),
    ...Array.from({ length: 50 }, () => delta('', { logprobs: { content: empty } })),
  );
  let tokens = 0;
  const reply = runOnServer(serverAt(), chatJob(), never);
  const read = async () => {
    for await (const each of reply) if (each.type === 'delta') tokens += each.delta.tokens;
  };
  await expect(read()).rejects.toMatchObject(failed(/ended its reply too early/));
  expect(tokens).toBe(8);
});

test('tokens without a text do not renew the time for the first one', async () => {
  streams((response) => {
    const timer = setInterval(
      () => response.write(delta('', { logprobs: { content: empty.slice(0, 2) } })),
      5,
    );
    response.on('close', () => clearInterval(timer));
  });
  await expect(ask('hi', { firstTokenMs: 200 })).rejects.toMatchObject(failed(/token/));
});

test('more cached tokens than the prompt has are not counted', async () => {
  stream(
    delta('a'),
    end({ prompt_tokens: 7, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 4000 } }),
  );
  expect((await ask()).at(-1)).toMatchObject({
    usage: { promptTokens: 7, cachedTokens: 7, completionTokens: 1 },
  });
});

test.each([
  ['an object', [delta({ a: 1 })]],
  ['a list', [delta([1, 2])]],
  ['a number', [delta(5)]],
  ['a choice that is none', [event({ choices: [5] })]],
  ['choices that are none', [event({ choices: { 0: {} } })]],
  ['100,000 choices', [event({ choices: Array.from({ length: 100_000 }, () => 0) })]],
  ['a finish reason that is none', [event({ choices: [{ delta: {}, finish_reason: 7 }] })]],
  ['a probability that is none', [delta('a', { logprobs: { content: [{ token: 'a', logprob: '1' }] } })]],
  ['no object', ['data: 5\n\n']],
  ['no JSON', ['data: {\n\n']],
])('a delta that is not as in the OpenAI API (%s) ends the request', async (_, events) => {
  stream(...events, end());
  await expect(ask()).rejects.toMatchObject({ wire: { status: 500, code: 'upstream_failed' } });
});

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}
async function passing(ms: number): Promise<void> {
  const before = asked;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  await until(() => asked > before);
  for (let turns = 0; turns < 100; turns++) await turn();
  vi.advanceTimersByTime(ms);
}

/** Sends the text again and again until the client leaves. */
function trickle(response: ServerResponse, text: string): void {
  const push = (): void => {
    if (response.destroyed) return;
    response.write(text);
    setImmediate(() => setImmediate(push));
  };
  push();
}

test.each([
  ['comments', ': ping\n\n', undefined, 60],
  ['empty deltas', delta(''), undefined, 60],
  ['comments, by a bound of the variant', ': ping\n\n', 2000, 2],
])('a server that trickles %s has a bound to its first token', async (_, text, firstTokenMs, seconds) => {
  streams((response) => trickle(response, text));
  const read = expect(ask('hi', firstTokenMs === undefined ? {} : { firstTokenMs })).rejects.toMatchObject(
    failed(new RegExp(`no token in ${seconds} s`)),
  );
  await passing(seconds * 1000 + 100);
  await read;
});

test('a server that stops after a token has a minute for the next', async () => {
  streams((response) => {
    response.write(delta('a'));
    trickle(response, ': ping\n\n');
  });
  const read = expect(ask()).rejects.toMatchObject(failed(/no further token in 60 s/));
  await passing(61_000);
  await read;
});

test.each([
  ['silent', ''],
  ['not JSON', 'data: {{\n\n'],
  ['an error', event({ error: { message: 'no memory' } })],
])('a reply that has its finish reason is whole, though what follows is %s', async (_, rest) => {
  const last = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  streams((response) => response.write(delta('a') + last + rest));
  const read = expect(ask()).resolves.toMatchObject([{}, { delta: { text: 'a' } }, { finishReason: 'stop' }]);
  await passing(5100);
  await read;
});

test('an answer that is no stream is named', async () => {
  answer = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in</h1>');
  const says = /answered 200 without a stream of events \(content type: text\/html\)\. Check `baseUrl`/;
  await expect(ask()).rejects.toMatchObject(failed(says));
  await expect(embed()).rejects.toMatchObject(failed(/without JSON \(content type: text\/html\)/));
});

test('an error whose body does not end has five seconds', async () => {
  answer = (response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    trickle(response, ' ');
  };
  const read = expect(ask()).rejects.toMatchObject(failed(/did not end its answer in 5 s/));
  await passing(5100);
  await read;
});

const embeddings = (...vectors: unknown[]) => {
  const data = vectors.map((embedding, index) => ({ index, embedding }));
  return JSON.stringify({ data, usage: { prompt_tokens: 'many' } });
};
test.each([
  ['too long', embeddings([1, 2, 3])],
  ['too short', embeddings([1])],
  ['empty', embeddings([])],
  ['infinite', '{"data":[{"index":0,"embedding":[1,1e999]}]}'],
  ['of lengths that overflow', '{"data":[{"index":0,"embedding":[1e300,1e300]}]}'],
  ['NaN', '{"data":[{"index":0,"embedding":[1,NaN]}]}'],
  ['null', embeddings([1, null])],
  ['text', embeddings(['1', '2'])],
  ['in base64', embeddings('AACAPw==')],
  ['too many', embeddings([1, 2], [1, 2])],
  ['none', '{"data":[]}'],
  ['no list', '{"data":{"length":1}}'],
  ['100,000 that are none', JSON.stringify({ data: Array.from({ length: 100_000 }, () => 0) })],
  ['of another index', '{"data":[{"index":7,"embedding":[1,2]}]}'],
])('embeddings that are %s end the request', async (_, body) => {
  answer = (response) => response.end(body);
  await expect(embed()).rejects.toMatchObject({ wire: { status: 500, code: 'upstream_failed' } });
});

test.each([undefined, 1536])('vectors of many inputs come in several answers: %s', async (dimensions) => {
  const sizes: number[] = [];
  const texts = Array.from({ length: 2048 }, (_, index) => `text ${index}`);
  const atServer = serverAt(dimensions === undefined ? {} : { dimensions });
  const post = vi.spyOn(atServer, 'post').mockImplementation(async (_, body) => {
    const { input } = body as { input: string[] };
    sizes.push(input.length);
    const data = input.map((each, index) => {
      const at = Number(each.slice(5));
      return { index, embedding: Array.from({ length: 1536 }, (__, place) => (place === at % 1536 ? 2 : 0)) };
    });
    return new Response(JSON.stringify({ data, usage: { prompt_tokens: 3 * input.length } }));
  });
  const job: EmbeddingJob = { kind: 'embedding', model: 'm', input: { texts } };
  const last = await lastOf(runOnServer(atServer, job, never));
  if (last.type === 'stage') throw new Error('no vectors came');
  const { vectors, promptTokens } = last;
  expect(post).toHaveBeenCalledTimes(sizes.length);
  expect(sizes).toEqual(dimensions ? [447, 447, 447, 447, 260] : [84, 447, 447, 447, 447, 176]);
  expect(promptTokens).toBe(3 * 2048);
  expect(vectors).toHaveLength(2048);
  for (const [at, vector] of vectors.entries()) expect(vector[at % 1536]).toBe(1);
});

test('one index twice, an empty vector of unknown length, and a usage that cannot be true', async () => {
  answer = (response) =>
    response.end('{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}');
  await expect(embed(['a', 'b'])).rejects.toMatchObject(failed(/for one input/));
  answer = (response) => response.end(embeddings([]));
  await expect(embed(['a'], 0)).rejects.toMatchObject(failed(/another form/));
  answer = (response) => response.end(embeddings([3, 4]));
  expect(await embed(['x'.repeat(40)])).toMatchObject({ promptTokens: 10 });
});

test('embeddings that never end, by size and by time', async () => {
  answer = (response) => {
    response.write('{"data":[{"index":0,"embedding":[');
    pour(response, '0,'.repeat(32_768));
  };
  await expect(embed(['a'], 384)).rejects.toMatchObject(failed(/more than \d+ bytes/));
  expect(sent).toBeLessThan(16 * MIB);
  answer = (response) => trickle(response, ' ');
  const read = expect(embed()).rejects.toMatchObject(failed(/did not end its answer in 60 s/));
  await passing(60_100);
  await read;
});
