import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import type { Catalog, CatalogModel } from '../../src/catalog/catalog.ts';
import { small } from '../support/small-variant.ts';
import { launchWithWeights } from '../support/stored-weights.ts';
import { openPage } from '../support/open-page.ts';
import { send } from '../support/send.ts';
import { MAX_WAIT_MS } from '../fuzz/outcome.ts';

const CHUNK = 64 * 1024;
const SSE = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };
const filled = (text: string): string => text.repeat(Math.ceil(CHUNK / text.length));
const event = (data: string): string => `data: ${data}\n\n`;

/** Writes parts as fast as they are read, until none is left or the client leaves. */
function pour(answer: ServerResponse, parts: Iterable<string>): void {
  const each = parts[Symbol.iterator]();
  const next = (): void => {
    for (;;) {
      const { done, value } = each.next();
      if (done) return void answer.end();
      if (answer.destroyed) return;
      if (!answer.write(value)) return void answer.once('drain', next);
    }
  };
  next();
}

function* forever(text: string): Generator<string> {
  for (;;) yield text;
}

function* long(head: string, text: string, bytes: number): Generator<string> {
  yield head;
  for (let sent = 0; sent < bytes; sent += text.length) yield text;
}

const calls = JSON.stringify(
  Array.from({ length: 100_000 }, (_, index) => ({
    index,
    id: `c${index}`,
    function: { name: 'f', arguments: '{}' },
  })),
);
const deep = '['.repeat(100_000);

/** What a chat's server answers, by name. */
const STREAMS: Record<string, Iterable<string>> = {
  'no-newline': forever('x'.repeat(CHUNK)),
  endless: forever(filled(event('{"choices":[{"delta":{"content":"x"}}]}'))),
  empty: forever(filled(event('{"choices":[{"delta":{}}]}'))),
  comments: forever(filled(':\n\n')),
  fields: forever(filled('id: 1\nretry: 1\nevent: x\n\n')),
  deep: [event(`{"choices":${deep}`)],
  'deep-choices': [event(`{"choices":[{"delta":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}]}`)],
  calls: [event(`{"choices":[{"delta":{"tool_calls":${calls}}}]}`)],
  choices: [event(`{"choices":[${'{},'.repeat(100_000)}{}]}`)],
};

/** What a server of embeddings answers, by name. */
const BODIES: Record<string, () => Iterable<string>> = {
  'json-100mb': () => long('{"data":[{"index":0,"embedding":[', filled('0.25,'), 100e6),
  'json-string': () => long('{"data":"', filled('x'), 100e6),
  'json-deep': () => long('', filled('['), 20e6),
};

/** One for each model: browsers open six connections to a host. */
const servers: Server[] = [];

async function start(): Promise<number> {
  const server = createServer(respond);
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function respond(request: IncomingMessage, answer: ServerResponse): void {
  const [, name = '', , end] = (request.url ?? '').split('/');
  const headers = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };
  if (request.method === 'OPTIONS') return void answer.writeHead(204, headers).end();
  if (end === 'models') return void answer.writeHead(200, { ...headers, ...JSON_TYPE }).end('{"data":[]}');
  const stream = STREAMS[name];
  const body = BODIES[name];
  if (body) return pour(answer.writeHead(200, { ...headers, ...JSON_TYPE }), body());
  answer.writeHead(200, { ...headers, ...SSE });
  if (stream) return pour(answer, stream);
  const dripping = setInterval(() => answer.write('x'), 20);
  answer.on('close', () => clearInterval(dripping));
}

let hostile: Page;
let other: Page;
const keys: string[] = [];
const names = [...Object.keys(STREAMS), 'slow'];

beforeAll(async () => {
  const model = async (id: string, kind: CatalogModel['kind']): Promise<CatalogModel> => ({
    id,
    kind,
    created: 1,
    variants: [
      {
        engine: 'upstream',
        name: id,
        license: 'MIT',
        contextLength: 2048,
        files: [],
        baseUrl: `http://127.0.0.1:${await start()}/${id}/v1`,
        model: 'm',
        ...(kind === 'embedding' && { dimensions: 4 }),
      },
    ],
  });
  const device: CatalogModel = { id: 'device', kind: 'chat', created: 1, variants: [small] };
  const models = [
    device,
    ...(await Promise.all(names.map((id) => model(id, 'chat')))),
    ...(await Promise.all(Object.keys(BODIES).map((id) => model(id, 'embedding')))),
  ];
  const catalog: Catalog = { ownedBy: 'test', models };
  const context = await launchWithWeights();
  const path = `/test-page.html?options=${encodeURIComponent(JSON.stringify({ catalog }))}`;
  for (let tabs = 0; tabs < 2; tabs++) {
    const { page, key } = await openPage(context, inject('siteUrl'), path);
    keys.push(key);
    if (tabs === 0) other = page;
    else hostile = page;
  }
});
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

const chat = (model: string) => ({
  model,
  messages: [{ role: 'user', content: 'Hi' }],
  temperature: 0,
  max_tokens: 2,
});

/** Times of another tab's requests, in milliseconds. */
async function timesOf(rounds: number): Promise<{ list: number; chat: number }> {
  const longest = { list: 0, chat: 0 };
  const timed = async (kind: keyof typeof longest, work: Promise<{ status: number; text: string }>) => {
    const began = performance.now();
    const { status, text } = await work;
    expect(text).not.toBe('');
    expect(status).toBe(200);
    longest[kind] = Math.max(longest[kind], performance.now() - began);
  };
  for (let round = 0; round < rounds; round++) {
    for (let lists = 0; lists < 4; lists++) await timed('list', send(other, keys[0] ?? '', '/v1/models'));
    await timed('chat', send(other, keys[0] ?? '', '/v1/chat/completions', chat('device')));
  }
  return longest;
}

test('servers that answer without end, or with what is hard to read, hold up no other tab', async () => {
  await send(other, keys[0] ?? '', '/v1/chat/completions', chat('device'));
  const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
  const asked = [
    ...names.flatMap((name) => [
      send(hostile, keys[1] ?? '', '/v1/chat/completions', { ...chat(name), stream: true }),
      send(hostile, keys[1] ?? '', '/v1/chat/completions', { ...chat(name), tools: [tool] }),
    ]),
    ...Object.keys(BODIES).map((model) =>
      send(hostile, keys[1] ?? '', '/v1/embeddings', { model, input: 'Hi' }),
    ),
  ];
  const beside = await timesOf(8);
  // Those that send bytes without a token end by their time limits.
  const answers = await Promise.all(
    asked.map((each) =>
      Promise.race([each, new Promise<null>((resolve) => setTimeout(resolve, 15_000, null))]),
    ),
  );
  const whole = answers.filter((answer) => answer?.status === 200 && !answer.text.includes('"error"'));
  expect(whole).toEqual([]);
  expect(beside.list).toBeLessThan(MAX_WAIT_MS);
  expect(beside.chat).toBeLessThan(MAX_WAIT_MS);
});
