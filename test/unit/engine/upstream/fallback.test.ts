import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { Variant } from '../../../../src/catalog/catalog.ts';
import type { ChatEngine, EmbeddingEngine } from '../../../../src/engine/engine.ts';
import { EngineError } from '../../../../src/protocol/engine-error.ts';
import { loadUpstream } from '../../../../src/engine/engines/upstream/load-upstream.ts';
import { abortable } from '../../../../src/protocol/abort.ts';
import { ModelManager } from '../../../../src/engine/models/model-manager.ts';
import { serveChat } from '../../../../src/engine/requests/serve-chat.ts';
import { serveEmbedding } from '../../../../src/engine/requests/serve-embedding.ts';
import type { ChatEvent, ChatJob } from '../../../../src/protocol/job.ts';

const never = new AbortController().signal;
const job = {
  kind: 'chat' as const,
  model: 'm',
  input: { messages: [{ role: 'user' as const, content: 'hi' }] },
  sampling: { temperature: 0, topP: 1 },
};

type Answer = (response: ServerResponse) => void;
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ error: { message: `said ${code}`, code: null } }));
  };
const chunk = (content: string, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason }] })}\n\n`;
const stream =
  (text: string, end: 'whole' | 'cut'): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`${chunk('')}${text && chunk(text)}`);
    if (end === 'whole') response.end(`${chunk('', 'stop')}data: [DONE]\n\n`);
    else setTimeout(() => response.destroy(), 20);
  };
const whole = stream('from the server', 'whole');
const hangUp: Answer = (response) => response.destroy();

let servers: Server[] = [];
let answer: Answer;
/** Requests but for the list of models. */
let asked: number;
/** Requests of any kind. */
let connections: number;
let baseUrl: string;

async function listen(handle: (path: string, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => handle(request.url ?? '', response));
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

beforeEach(async () => {
  asked = 0;
  connections = 0;
  onDeviceAborts = 0;
  vi.spyOn(console, 'warn').mockReturnValue();
  baseUrl = await listen((path, response) => {
    connections += 1;
    if (path === '/v1/models') return response.end('{"object":"list","data":[]}');
    asked += 1;
    return answer(response);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const server of servers) server.closeAllConnections();
  for (const server of servers) server.close();
  servers = [];
});

/** Replies on the device that were aborted before their first token. */
let onDeviceAborts: number;
/** Replies of the server whose client left before their end. */
let left: number;

async function* generateAfter(ms: number, until: AbortSignal): AsyncGenerator<ChatEvent> {
  let waits = ms > 0;
  until.addEventListener('abort', () => (onDeviceAborts += Number(waits)));
  if (waits) await abortable(new Promise((resolve) => setTimeout(resolve, ms)), until);
  waits = false;
  yield* onDevice.generate(job, until);
}

const onDevice: ChatEngine & EmbeddingEngine = {
  fingerprint: 'device',
  slots: 1,
  async *generate() {
    yield { type: 'accepted', accepted: { promptTokens: 1, fingerprint: 'device' } };
    yield { type: 'delta', delta: { text: 'from the device', tokens: 3 } };
    const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 3 };
    const timings = { queueMs: 0, prefillMs: 0, decodeMs: 0 };
    yield { type: 'done', finishReason: 'stop', usage, timings };
  },
  embed: async () => ({ vectors: [new Float32Array([1])], tokens: 1 }),
  unload: async () => undefined,
};

/** A model on a server, and behind it one on the device: `none`, or one that `fails` to load. */
function models(
  next: 'device' | 'none' | 'fails' = 'device',
  kind: 'chat' | 'embedding' = 'chat',
  passThrough?: number[],
  { route, deviceMs = 0 }: { route?: 'race'; deviceMs?: number } = {},
) {
  const common = { license: 'MIT', contextLength: 10, files: [] };
  const upstream = {
    ...common,
    engine: 'upstream' as const,
    name: 'server',
    baseUrl,
    model: 'theirs',
    ...(passThrough && { passThrough }),
  };
  const server: Variant = kind === 'chat' ? upstream : { ...upstream, dimensions: 1 };
  const small: Variant = { ...common, engine: 'wllama', name: 'small' };
  const variants = next === 'none' ? [server] : [server, small];
  const reasons = [{ variant: 'server', engine: 'upstream', chosen: true, reason: 'a server runs it' }];
  return new ModelManager(
    { ownedBy: 'us', models: [{ id: 'm', kind, created: 0, variants, ...(route && { route }) }] },
    async (variant, { signal }) => {
      if (variant.engine === 'upstream') {
        const file = () => Promise.reject(new Error('none'));
        const context = { file, wasm: (name: string) => name, onProgress: () => undefined, signal };
        return loadUpstream(variant, context, { key: 'k' });
      }
      if (next === 'fails') throw new EngineError({ code: 'out_of_memory', message: 'too little' });
      return { ...onDevice, generate: (_, until) => generateAfter(deviceMs, until) };
    },
    () => undefined,
    async () => ({ candidates: variants, reasons }),
  );
}

async function ask(
  modelManager: ModelManager,
  more: Partial<ChatJob> = {},
): Promise<{ text: string; fingerprint: string | null }> {
  const events: ChatEvent[] = [];
  for await (const event of serveChat(
    modelManager,
    { id: 'r', job: { ...job, ...more } },
    never,
    () => undefined,
  ))
    events.push(event);
  const text = events.flatMap((event) => (event.type === 'delta' ? event.delta.text : [])).join('');
  const accepted = events.find((event) => event.type === 'accepted');
  return { text, fingerprint: accepted?.accepted.fingerprint ?? null };
}

const device = { text: 'from the device', fingerprint: 'device' };
const server = { text: 'from the server', fingerprint: 'server-upstream' };

const faults: [string, Answer, RegExp][] = [
  ['a wrong key', status(401), /refused the key/],
  ['a forbidden key', status(403), /refused the key/],
  ['a long wait', status(429, { 'retry-after': '60' }), /said 429/],
  ['an unknown model', status(404), /does not know the model/],
  ['a failing server', status(503), /failed \(503\)/],
  ['a broken connection', hangUp, /cannot be reached.*Access-Control-Allow-Origin/],
  ['a reply that breaks off before its first token', stream('', 'cut'), /ended its reply/],
];

test.each(faults)(
  '%s: the device answers in the same call, and the status says why',
  async (_, fault, why) => {
    const modelManager = models();
    answer = whole;
    expect(await ask(modelManager)).toEqual(server);
    answer = fault;
    expect(await ask(modelManager)).toEqual(device);
    expect(await ask(modelManager)).toEqual(device);
    // The second request had not to ask the server, and the console has it once.
    expect(asked).toBe(2);
    expect(console.warn).toHaveBeenCalledTimes(1);
    expect(modelManager.status()[0]?.reasons).toContainEqual(
      expect.objectContaining({
        variant: 'server',
        chosen: false,
        reason: expect.stringMatching(why) as string,
      }),
    );
  },
);

test.each([
  ['refuses connections', 'http://127.0.0.1:9/v1'],
  ['has no address', 'http://no-such-host.invalid/v1'],
  ['fails the TLS handshake', () => baseUrl.replace('http:', 'https:')],
])('a server that %s from the start: the device answers', async (_, url) => {
  baseUrl = typeof url === 'string' ? url : url();
  const modelManager = models();
  expect(await ask(modelManager)).toEqual(device);
  expect(modelManager.status()[0]?.reasons).toContainEqual(
    expect.objectContaining({
      variant: 'server',
      reason: expect.stringMatching(/^does not answer: .* cannot be reached/) as string,
    }),
  );
  expect(console.warn).toHaveBeenCalledTimes(1);
});

test('several requests that meet the fault together are all answered by the device', async () => {
  const modelManager = models();
  answer = status(500);
  expect(await Promise.all([ask(modelManager), ask(modelManager), ask(modelManager)])).toEqual([
    device,
    device,
    device,
  ]);
});

test.each([
  ['400', status(400), { status: 400, message: 'said 400' }],
  ['429 with a short wait', status(429, { 'retry-after': '2' }), { status: 429, retryAfterMs: 2000 }],
])('a %s is passed on, though the device could answer', async (_, fault, wire) => {
  const modelManager = models();
  answer = fault;
  await expect(ask(modelManager)).rejects.toMatchObject({ wire });
  answer = whole;
  expect(await ask(modelManager)).toEqual(server);
});

test.each([
  [401, 'chat', { status: 401, code: 'upstream_refused' }],
  [429, 'chat', { status: 429, retryAfterMs: 60_000 }],
  [503, 'embedding', { status: 500, code: 'upstream_failed' }],
] as const)('a %i that the site passes through goes to the caller of a %s', async (code, kind, wire) => {
  const modelManager = models('device', kind, [401, 429, 503]);
  answer = status(code, { 'retry-after': '60' });
  const embedding = { kind: 'embedding' as const, model: 'm', input: { texts: ['a'] } };
  const request = () =>
    kind === 'chat'
      ? ask(modelManager)
      : serveEmbedding(modelManager, { id: 'r', job: embedding }, never, () => undefined);
  await expect(request()).rejects.toMatchObject({ wire });
  await expect(request()).rejects.toMatchObject({ wire });
  expect(asked).toBe(2);
  // Other faults still go to the next variant.
  answer = status(500);
  expect((await request()).fingerprint).toBe('device');
});

test.each([
  ['none', 401, { status: 401, code: 'upstream_refused' }],
  ['fails', 401, { status: 401, code: 'upstream_refused' }],
  ['none', 429, { status: 429, type: 'rate_limit_error', retryAfterMs: 60_000 }],
  ['none', 503, { status: 500, code: 'upstream_failed' }],
] as const)('where the device can not answer (%s), a %i is passed on', async (next, code, wire) => {
  answer = status(code, code === 429 ? { 'retry-after': '60' } : {});
  const modelManager = models(next);
  await expect(ask(modelManager)).rejects.toMatchObject({ wire });
});

test('a reply that breaks off after its first token is an error, and the next request goes to the device', async () => {
  const modelManager = models();
  answer = stream('half a', 'cut');
  await expect(ask(modelManager)).rejects.toMatchObject({ wire: { status: 500, code: 'upstream_failed' } });
  expect(await ask(modelManager)).toEqual(device);
});

test('embeddings are answered by the next variant, too', async () => {
  const modelManager = models('device', 'embedding');
  answer = status(502);
  const embedding = { kind: 'embedding' as const, model: 'm', input: { texts: ['a'] } };
  const embed = () => serveEmbedding(modelManager, { id: 'r', job: embedding }, never, () => undefined);
  const results = await Promise.all([embed(), embed()]);
  expect(results.map(({ fingerprint }) => fingerprint)).toEqual(['device', 'device']);
});

test('a server that recovers answers again', async () => {
  const modelManager = models();
  answer = status(500);
  expect(await ask(modelManager)).toEqual(device);
  answer = whole;
  const later = performance.now() + 11_000;
  vi.spyOn(performance, 'now').mockImplementation(() => later);
  await expect.poll(() => ask(modelManager)).toEqual(server);
});

test('a request limited to the device reaches no server, whatever happens to the device', async () => {
  answer = whole;
  const embedding = { kind: 'embedding' as const, model: 'm', input: { texts: ['a'] }, deviceOnly: true };
  const embed = (modelManager: ModelManager) =>
    serveEmbedding(modelManager, { id: 'r', job: embedding }, never, () => undefined);
  expect(await ask(models(), { deviceOnly: true })).toEqual(device);
  expect(await embed(models('device', 'embedding'))).toMatchObject({ fingerprint: 'device' });
  await expect(ask(models('none'), { deviceOnly: true })).rejects.toMatchObject({
    wire: { code: 'model_unavailable', message: expect.stringMatching(/limited to this device/) as string },
  });
  await expect(embed(models('none', 'embedding'))).rejects.toThrow(/limited to this device/);
  await expect(ask(models('fails'), { deviceOnly: true })).rejects.toMatchObject({
    wire: { code: 'out_of_memory' },
  });
  expect(connections).toBe(0);
  // A server that others use, and that is in memory, is left out as well.
  const shared = models();
  expect(await ask(shared)).toEqual(server);
  const before = connections;
  expect(await ask(shared, { deviceOnly: true })).toEqual(device);
  expect(connections).toBe(before);
});

const slowly =
  (answerAfter: Answer, ms: number): Answer =>
  (response) => {
    const timer = setTimeout(() => answerAfter(response), ms);
    response.on('close', () => {
      if (!response.writableEnded) left += 1;
      clearTimeout(timer);
    });
  };

test.each([
  ['the server is first', whole, 200, server],
  ['the device is first', slowly(whole, 20_000), 500, device],
  ['the server fails', status(503), 50, device],
  ['the server passes the status through', status(429, { 'retry-after': '1' }), 50, device],
] as const)('in a race, %s: one answers, and the other is aborted', async (_, from, deviceMs, expected) => {
  const modelManager = models('device', 'chat', undefined, { route: 'race', deviceMs });
  answer = from;
  left = 0;
  await modelManager.ready('m', never, { side: 'server' });
  expect(await ask(modelManager)).toEqual(expected);
  expect(onDeviceAborts).toBe(expected === server ? 1 : 0);
  await expect.poll(() => left).toBe(deviceMs === 500 ? 1 : 0);
  expect(modelManager.busy).toBe(false);
});

test('in a race, a request limited to the device reaches no server; when both fail, the error is told', async () => {
  answer = status(400);
  const racing = models('device', 'chat', undefined, { route: 'race' });
  expect(await ask(racing, { deviceOnly: true })).toEqual(device);
  expect(connections).toBe(0);
  const failing = models('fails', 'chat', undefined, { route: 'race' });
  await expect(ask(failing)).rejects.toBeInstanceOf(EngineError);
});

test('a redirect is refused, and the other host hears nothing', async () => {
  let heard = 0;
  const other = await listen((_, response) => {
    heard += 1;
    whole(response);
  });
  for (const code of [301, 302, 303, 307, 308]) {
    answer = status(code, { location: `${other}/chat/completions` });
    await expect(ask(models('none'))).rejects.toMatchObject({
      wire: { status: 500, code: 'upstream_redirected' },
    });
    expect(await ask(models())).toEqual(device);
  }
  expect(heard).toBe(0);
});

test('a server that is silent counts as down after a minute', async () => {
  const modelManager = models();
  await modelManager.ready('m', never);
  answer = () => undefined;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const asking = ask(modelManager);
    const isAsked = () => asked > 0;
    while (!isAsked()) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(61_000);
    expect(await asking).toEqual(device);
  } finally {
    vi.useRealTimers();
  }
});
