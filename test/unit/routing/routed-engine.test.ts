import { createServer, type ServerResponse } from 'node:http';
import { beforeEach, expect, test, vi } from 'vitest';

// oxlint-disable-next-line import/no-unassigned-import -- gives Node a database
import 'fake-indexeddb/auto';
import type { CatalogModel, Variant } from '../../../src/catalog/catalog.ts';
import type { ChatEvent, ChatJob } from '../../../src/jobs/chat.ts';
import type { EmbeddingJob } from '../../../src/jobs/embedding.ts';
import type { EventOf, JobOf, Kind } from '../../../src/jobs/kinds.ts';
import type { EngineRequester, StageEvent } from '../../../src/protocol/service-dependencies.ts';
import { serverError } from '../../../src/base/errors/service-error.ts';
import { writeSettings } from '../../../src/database/database.ts';
import { routedEngine } from '../../../src/routing/routed-engine.ts';
import { createServers } from '../../../src/routing/servers.ts';
import { keepLock, requestLock, requestsRun } from '../../../src/protocol/locks.ts';
import { createDeferred } from '../../../src/base/async.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { listen } from '../../support/listen.ts';
import { chatJob } from '../../support/chat-job.ts';
import { serverVariant } from '../../support/catalogs.ts';
import { never } from '../../support/never.ts';

const job = chatJob();

const { manager: locks } = new FakeLocks();

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
const rawStream =
  (text: string): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(text);
  };
const ofOneLine = rawStream(`data: ${'a'.repeat(300_000)}`);
const hangUp: Answer = (response) => response.destroy();

let answer: Answer;
let list: Answer;
/** Requests but for the list of models. */
let asked: number;
/** Requests of any kind. */
let connections: number;
let baseUrl: string;
let authorization: string | undefined;

async function serve(handle: (path: string, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    authorization = request.headers.authorization;
    request.resume().on('end', () => handle(request.url ?? '', response));
  });
  return `${await listen(server)}/v1`;
}

beforeEach(async () => {
  await writeSettings('/', locks, { catalog: undefined, prefer: undefined, upstreamKeys: undefined });
  asked = 0;
  list = (response) => response.end('{"object":"list","data":[]}');
  connections = 0;
  onDevice = [];
  changes = 0;
  vi.spyOn(console, 'warn').mockReturnValue();
  baseUrl = await serve((path, response) => {
    connections++;
    if (path === '/v1/models') return list(response);
    asked++;
    return answer(response);
  });
});

/** Jobs that the device was given. */
let onDevice: { deviceOnly: boolean | undefined; variants: string[] | undefined }[];
/** How often the health of a server has changed. */
let changes: number;
/** The device, or one whose engine `fails` to load. */
const device = (state: 'works' | 'fails'): EngineRequester => {
  const fail = () => {
    if (state === 'fails') throw serverError('out_of_memory', 'too little');
  };
  const runs: { [K in Kind]: (job: JobOf<K>) => AsyncIterable<StageEvent | EventOf<K>> } = {
    async *chat({ deviceOnly, variants }) {
      onDevice.push({ deviceOnly, variants });
      yield { type: 'stage', stage: 'loading' };
      fail();
      yield { type: 'accepted', accepted: { promptTokens: 1, fingerprint: 'device' } };
      yield { type: 'delta', delta: { text: 'from the device', tokens: 3 } };
      const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 3 };
      const timings = { queueMs: 0, prefillMs: 0, decodeMs: 0 };
      yield { type: 'done', finishReason: 'stop', usage, timings };
    },
    async *transcription() {
      fail();
      yield { type: 'stage', stage: 'loading' };
    },
    async *speech() {
      fail();
      yield { type: 'accepted', fingerprint: 'device' };
    },
    async *decision() {
      fail();
      const progress = { answers: [[0.25]], promptTokens: 1, cachedTokens: 0, labelTokens: 0 };
      yield { type: 'done', progress, fingerprint: 'device', timings: { queueMs: 0, computeMs: 0 } };
    },
    async *toolChoice() {
      fail();
      yield { type: 'done', scores: [1, 0], promptTokens: 1, fingerprint: 'device' };
    },
    async *rerank() {
      fail();
      const timings = { queueMs: 0, computeMs: 0 };
      yield { type: 'done', scores: [0.5], promptTokens: 1, fingerprint: 'device', timings };
    },
    async *embedding() {
      fail();
      const timings = { queueMs: 0, computeMs: 0 };
      const vectors = [new Float32Array([1])];
      yield { type: 'done', vectors, promptTokens: 1, fingerprint: 'device', timings };
    },
  };
  return { run: (given, { id }) => whileHeld(id, runs[given.kind](given)) };
};

/** Holds the request's lock, as the device's client does. */
async function* whileHeld<T>(id: string, events: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  const release = await keepLock(locks, requestLock('/', id));
  try {
    yield* events;
  } finally {
    release();
  }
}

const common = { license: 'MIT', contextLength: 10, files: [] };
const onDeviceVariant = (name: string): Variant => ({ ...common, engine: 'wllama', name });

/** A model on a server, and behind it one on the device: `none`, or one that `fails` to load. */
function models(
  next: 'device' | 'none' | 'fails' = 'device',
  kind: 'chat' | 'embedding' = 'chat',
  passThrough?: number[],
  { route, order }: Options = {},
) {
  const upstream = serverVariant('server', baseUrl, { ...(passThrough && { passThrough }) });
  const variant: Variant = kind === 'chat' ? upstream : { ...upstream, dimensions: 1 };
  const variants = next === 'none' ? [variant] : [variant, onDeviceVariant('small')];
  const model: CatalogModel = {
    id: 'm',
    kind,
    created: 0,
    variants: order?.(variant) ?? variants,
    ...(route && { route }),
  };
  const catalog = { ownedBy: 'us', models: [model] };
  const known = createServers('/', () => ++changes);
  return {
    entry: { id: 'm', kind, created: 0, ownedBy: 'us', defaults: {}, catalogModel: model },
    engine: routedEngine(
      device(next === 'fails' ? 'fails' : 'works'),
      { scope: '/', locks },
      ({ catalogModel }) => known.targetsOf(catalogModel),
    ),
    targets: async () => (await known.targetsOf(model)) ?? [],
    reasons: async () => (await known.addTo(null, catalog))?.models[0]?.reasons,
  };
}

interface Options {
  route?: NonNullable<CatalogModel['route']>;
  /** The model's variants, around its server. */
  order?: (server: Variant) => Variant[];
}

const embedding: EmbeddingJob = { kind: 'embedding', model: 'm', input: { texts: ['a'] } };

async function ask(
  { engine, entry }: Pick<ReturnType<typeof models>, 'engine' | 'entry'>,
  more: Partial<ChatJob> = {},
  onEvent?: () => void,
): Promise<{ text: string; fingerprint: string | null }> {
  const events: ChatEvent[] = [];
  const request = { id: crypto.randomUUID(), signal: never, model: entry };
  for await (const event of engine.run({ ...job, ...more }, request)) {
    if (event.type !== 'stage') events.push(event);
    onEvent?.();
    // As the service does.
    if (event.type === 'done') break;
  }
  const text = events.flatMap((event) => (event.type === 'delta' ? event.delta.text : [])).join('');
  const accepted = events.find((event) => event.type === 'accepted');
  return { text, fingerprint: accepted?.accepted.fingerprint ?? null };
}

async function embed({ engine, entry }: ReturnType<typeof models>, more: Partial<EmbeddingJob> = {}) {
  const request = { id: crypto.randomUUID(), signal: never, model: entry };
  for await (const event of engine.run({ ...embedding, ...more }, request))
    if (event.type === 'done') return event;
  throw new Error('no vectors came');
}

const byDevice = { text: 'from the device', fingerprint: 'device' };
const byServer = { text: 'from the server', fingerprint: 'server-upstream' };

const faults: [string, Answer, RegExp][] = [
  ['a wrong key', status(401), /refused the key/],
  ['a forbidden key', status(403), /refused the key/],
  ['a long wait', status(429, { 'retry-after': '60' }), /said 429/],
  ['an unknown model', status(404), /does not know the model/],
  ['a failing server', status(503), /failed \(503\)/],
  ['a broken connection', hangUp, /cannot be reached.*Access-Control-Allow-Origin/],
  ['a reply that breaks off before its first token', stream('', 'cut'), /ended its reply/],
  ['a line without an end', ofOneLine, /event of more than 262144 characters/],
  ['text of no string', rawStream('data: {"choices":[{"delta":{"content":{"a":1}}}]}\n\n'), /OpenAI API/],
  ['an error without an end', (to) => to.writeHead(400).end('a'.repeat(70_000)), /more than 65536 bytes/],
];

test.each(faults)('%s: the device answers in that call, and the status says why', async (_, fault, why) => {
  const model = models();
  answer = whole;
  expect(await ask(model)).toEqual(byServer);
  answer = fault;
  expect(await ask(model)).toEqual(byDevice);
  expect(await ask(model)).toEqual(byDevice);
  // The second request had not to ask the server, and the console has it once.
  expect(asked).toBe(2);
  expect(console.warn).toHaveBeenCalledTimes(1);
  expect(await model.reasons()).toContainEqual(
    expect.objectContaining({
      variant: 'server',
      chosen: false,
      reason: expect.stringMatching(why) as string,
    }),
  );
});

test.each([
  ['refuses connections', 'http://127.0.0.1:9/v1'],
  ['has no address', 'http://no-such-host.invalid/v1'],
  ['fails the TLS handshake', () => baseUrl.replace('http:', 'https:')],
])('a server that %s from the start: the device answers', async (_, url) => {
  baseUrl = typeof url === 'string' ? url : url();
  const model = models();
  expect(await ask(model)).toEqual(byDevice);
  expect(await model.reasons()).toContainEqual(
    expect.objectContaining({
      variant: 'server',
      reason: expect.stringMatching(/^does not answer: .* cannot be reached/) as string,
    }),
  );
  expect(console.warn).toHaveBeenCalledTimes(1);
});

test('several requests that meet the fault together are all answered by the device', async () => {
  const model = models();
  answer = status(500);
  expect(await Promise.all([ask(model), ask(model), ask(model)])).toEqual([byDevice, byDevice, byDevice]);
});

test.each([
  ['400', status(400), { status: 400, message: 'said 400' }],
  ['429 with a short wait', status(429, { 'retry-after': '2' }), { status: 429, retryAfterMs: 2000 }],
])('a %s is passed on, though the device could answer', async (_, fault, wire) => {
  const model = models();
  answer = fault;
  await expect(ask(model)).rejects.toMatchObject({ wire });
  answer = whole;
  expect(await ask(model)).toEqual(byServer);
});

test.each([
  [401, 'chat', { status: 401, code: 'upstream_refused' }],
  [429, 'chat', { status: 429, retryAfterMs: 60_000 }],
  [503, 'embedding', { status: 503, type: 'server_error', code: 'upstream_failed', retryAfterMs: 60_000 }],
  [404, 'chat', { status: 404, type: 'invalid_request_error' }],
] as const)('a %i that the site passes through goes to the caller of a %s', async (code, kind, wire) => {
  const model = models('device', kind, [401, 404, 429, 503]);
  answer = status(code, { 'retry-after': '60' });
  const request = () => (kind === 'chat' ? ask(model) : embed(model));
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
  ['none', 304, { status: 500, code: 'upstream_failed' }],
] as const)('where the device can not answer (%s), a %i is passed on', async (next, code, wire) => {
  answer = status(code, code === 429 ? { 'retry-after': '60' } : {});
  const model = models(next);
  await expect(ask(model)).rejects.toMatchObject({ wire });
});

test('a reply that breaks off after its first token is an error, and the next request goes to the device', async () => {
  const model = models();
  answer = stream('half a', 'cut');
  await expect(ask(model)).rejects.toMatchObject({ wire: { status: 500, code: 'upstream_failed' } });
  expect(await ask(model)).toEqual(byDevice);
});

test('embeddings are answered by the next variant, too', async () => {
  const model = models('device', 'embedding');
  answer = status(502);
  const results = await Promise.all([embed(model), embed(model)]);
  expect(results.map(({ fingerprint }) => fingerprint)).toEqual(['device', 'device']);
});

test('a server that recovers answers again', async () => {
  const model = models();
  answer = status(500);
  expect(await ask(model)).toEqual(byDevice);
  answer = whole;
  let arrive = (): void => undefined;
  list = (response) => (arrive = () => response.end('{}'));
  const later = performance.now() + 11_000;
  vi.spyOn(performance, 'now').mockImplementation(() => later);
  // No request waits for the probe.
  expect([await ask(model), await ask(model)]).toEqual([byDevice, byDevice]);
  await vi.waitUntil(() => arrive.length === 0 && connections > 2);
  arrive();
  await expect.poll(() => ask(model)).toEqual(byServer);
  expect(onDevice.length).toBeGreaterThan(2);
});

test('an answered request ends the row of failures, after which pauses are long', async () => {
  const model = models();
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  for (let round = 0; round < 4; round++) {
    answer = status(500);
    expect(await ask(model)).toEqual(byDevice);
    answer = whole;
    // The first pause.
    now += 5001;
    await expect.poll(() => ask(model)).toEqual(byServer);
  }
});

test('a request limited to the device reaches no server, whatever happens to the device', async () => {
  answer = whole;
  expect(await ask(models(), { deviceOnly: true })).toEqual(byDevice);
  expect(await embed(models('device', 'embedding'), { deviceOnly: true })).toMatchObject({
    fingerprint: 'device',
  });
  // Where no variant runs on the device, its engine says so: it gets the job, and no server does.
  expect(await ask(models('none'), { deviceOnly: true })).toEqual(byDevice);
  expect(onDevice).toEqual([
    { deviceOnly: true, variants: undefined },
    { deviceOnly: true, variants: undefined },
  ]);
  await expect(ask(models('fails'), { deviceOnly: true })).rejects.toMatchObject({
    wire: { code: 'out_of_memory' },
  });
  expect(connections).toBe(0);
  // A server that others use is left out as well.
  const shared = models();
  expect(await ask(shared)).toEqual(byServer);
  const before = connections;
  expect(await ask(shared, { deviceOnly: true })).toEqual(byDevice);
  expect(connections).toBe(before);
});

test.each([
  ['the first variant', {}, byServer, byDevice],
  ['the device first', { route: 'device-first' }, byDevice, byServer],
  ['the server first', { route: 'server-first' }, byServer, byDevice],
] as const)('the route: %s, then the other', async (_, options, first, second) => {
  answer = whole;
  expect(await ask(models('device', 'chat', undefined, options))).toEqual(first);
  if (first === byServer) answer = status(500);
  expect(await ask(models('fails', 'chat', undefined, options)).catch(() => byDevice)).toEqual(second);
});

test('a server between two variants of the device is asked between them', async () => {
  answer = whole;
  const order = (server: Variant) => [onDeviceVariant('gpu'), server, onDeviceVariant('wasm')];
  expect(await ask(models('fails', 'chat', undefined, { order }))).toEqual(byServer);
  answer = status(500);
  await expect(ask(models('fails', 'chat', undefined, { order }))).rejects.toMatchObject({
    wire: { code: 'upstream_failed' },
  });
  expect(onDevice.map(({ variants }) => variants)).toEqual([['gpu'], ['gpu'], ['wasm']]);
});

test('what a page prefers comes before the route, and it alone admits what is only used by name', async () => {
  answer = whole;
  const optIn = (server: Variant) => [{ ...server, optIn: true }, onDeviceVariant('small')];
  expect(await ask(models('device', 'chat', undefined, { order: optIn }))).toEqual(byDevice);
  await writeSettings('/', locks, { catalog: undefined, prefer: ['server'], upstreamKeys: undefined });
  expect(await ask(models('device', 'chat', undefined, { order: optIn }))).toEqual(byServer);
  expect(await ask(models('device', 'chat', undefined, { route: 'device-first' }))).toEqual(byServer);
});

test("the site's knowledge of a server is passed on, and each change of its health is reported", async () => {
  await writeSettings('/', locks, {
    catalog: undefined,
    prefer: undefined,
    upstreamKeys: { server: 'sk-site' },
  });
  const model = models();
  answer = whole;
  await ask(model);
  expect(authorization).toBe('Bearer sk-site');
  expect(changes).toBe(1);
  answer = status(500);
  await ask(model);
  expect(changes).toBe(2);
});

test('a redirect is refused, and the other host gets no request', async () => {
  let heard = 0;
  const other = await serve((_, response) => {
    heard++;
    whole(response);
  });
  for (const code of [301, 302, 303, 307, 308]) {
    answer = status(code, { location: `${other}/chat/completions` });
    await expect(ask(models('none'))).rejects.toMatchObject({
      wire: { status: 500, code: 'upstream_redirected' },
    });
    expect(await ask(models())).toEqual(byDevice);
  }
  expect(heard).toBe(0);
});

test.each([
  ['is whole', whole, 'read', byServer],
  ['is left by its reader', whole, 'left', null],
  ['breaks off', stream('half a', 'cut'), 'read', null],
  ['goes on on the device', stream('', 'cut'), 'read', byDevice],
] as const)('a request counts as running until the answer of its server %s', async (_, given, how, read) => {
  let seen: Promise<boolean> | undefined;
  answer = (response) => {
    seen = requestsRun(locks, '/');
    given(response);
  };
  const model = models();
  if (how === 'left') {
    for await (const event of model.engine.run(job, { id: 'left', signal: never, model: model.entry }))
      if (event.type === 'delta') break;
  } else expect(await ask(model).catch(() => null)).toEqual(read);
  expect(await seen).toBe(true);
  await expect.poll(() => requestsRun(locks, '/')).toBe(false);
});

const fakeTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
const turn = () => new Promise((resolve) => setImmediate(resolve));
const until = async (isSo: () => boolean) => {
  while (!isSo()) await turn();
};

test('a server that is silent counts as down after a minute', async () => {
  const model = models();
  answer = () => undefined;
  fakeTimers();
  const asking = ask(model);
  // The list of models was answered.
  await until(() => asked > 0 && changes > 0);
  vi.advanceTimersByTime(61_000);
  expect(await asking).toEqual(byDevice);
});

test('a request that waits for a connection, while others are answered, waits on', async () => {
  const model = models();
  let streaming: ServerResponse | undefined;
  let waiting: ServerResponse | undefined;
  answer = (response) => {
    if (!streaming) (streaming = response).writeHead(200, { 'content-type': 'text/event-stream' });
    else waiting = response;
    streaming.write(chunk('a'));
  };
  const fetched = vi.spyOn(globalThis, 'fetch');
  fakeTimers();
  let read = 0;
  const first = ask(model, {}, () => read++);
  await until(() => asked > 0);
  const second = ask(model);
  await until(() => waiting !== undefined);
  const { calls, results } = fetched.mock;
  await Promise.all(calls.map(([url], at) => `${url}`.endsWith('/models') && results[at]?.value));
  fetched.mockRestore();
  await turn();
  for (let seconds = 0; seconds < 180; seconds += 45) {
    vi.advanceTimersByTime(45_000);
    const before = read;
    streaming?.write(chunk('a'));
    await until(() => read > before);
  }
  if (waiting) whole(waiting);
  expect(await second).toEqual(byServer);
  streaming?.end(`${chunk('', 'stop')}data: [DONE]\n\n`);
  expect(await first).toMatchObject({ fingerprint: 'server-upstream' });
});

test('a host that answers nothing at all is known after three seconds', async () => {
  baseUrl = await serve(() => ++connections);
  const model = models();
  fakeTimers();
  const asking = ask(model);
  await until(() => connections === 2);
  vi.advanceTimersByTime(3100);
  expect(await asking).toEqual(byDevice);
});

test('a server whose list of models a page cannot read answers, with another variant left', async () => {
  const refused = createDeferred();
  list = (response) => response.once('close', refused.resolve).destroy();
  answer = async (response) => {
    await refused.promise;
    // The page hears of it meanwhile.
    for (let turns = 0; turns < 100; turns++) await turn();
    whole(response);
  };
  expect(await ask(models())).toEqual(byServer);
});

test.each([
  ['it is the only variant', 'none', {}],
  ['the device has failed before', 'fails', { route: 'device-first' }],
] as const)('a server that starts when it is asked has 20 s where %s', async (_, next, options) => {
  const started = createDeferred();
  list = (response) => void started.promise.then(() => response.end('{}'));
  answer = (response) => void started.promise.then(() => whole(response));
  const model = models(next, 'chat', undefined, options);
  fakeTimers();
  const asking = ask(model).catch((error: unknown) => error);
  await until(() => asked === 1);
  vi.advanceTimersByTime(20_000);
  for (let turns = 0; turns < 50; turns++) await turn();
  started.resolve();
  expect(await asking).toEqual(byServer);
});

test.each([
  [true, 3100],
  [false, 60_100],
])(
  'a look for a server, with another variant left: %s, ends after %i ms, or with its caller',
  async (hasNext, ms) => {
    baseUrl = await serve(() => ++connections);
    const [target] = await models('none').targets();
    fakeTimers();
    const looking = target?.server?.probe(never, hasNext).catch((error: unknown) => error);
    await until(() => connections === 1);
    let ended = false;
    void looking?.then(() => (ended = true));
    vi.advanceTimersByTime(ms - 200);
    for (let turns = 0; turns < 50; turns++) await turn();
    expect(ended).toBe(false);
    vi.advanceTimersByTime(200);
    expect(await looking).toMatchObject({ wire: { code: 'upstream_unavailable' } });
    const left = new AbortController();
    const second = target?.server?.probe(left.signal, hasNext);
    left.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
  },
);

test('a server is not asked which tool a chat needs: its model chooses', async () => {
  const { engine, entry, targets } = models();
  const [target] = await targets();
  if (!target?.server) throw new Error('the first target is a server');
  const succeed = vi.spyOn(target.server.circuit, 'succeed');
  const choice = { kind: 'toolChoice' as const, model: 'm', message: 'hi', before: '', tools: [] };
  const events = [];
  for await (const event of engine.run(choice, { id: 'r', signal: never, model: entry })) events.push(event);
  expect(events).toEqual([{ type: 'stage', stage: 'sent' }]);
  expect(asked).toBe(0);
  expect(succeed).not.toHaveBeenCalled();
});
