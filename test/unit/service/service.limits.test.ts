import { createDeferred } from '../../../src/base/async.ts';
import { describe, expect, test } from 'vitest';
import type { KeyStore } from '../../../src/protocol/service-dependencies.ts';
import type { KeyLimits } from '../../../src/database/database.ts';
import { ALL_ENDPOINTS, ENDPOINTS } from '../../../src/service/endpoints.ts';
import { catalogDirectory } from '../../../src/service/model-list/models.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { chat, fakeService } from '../../support/fake-service.ts';
import { catalogOf, modelOf } from '../../support/catalogs.ts';

const PATH = '/v1/chat/completions';

describe('a key that is over its limit', () => {
  test('requests: 429 with when to retry, in the clock of the service', async () => {
    let now = 1_700_000_000_000;
    const { fetch } = await fakeService({ now: () => now, issue: { limits: { requestsPerMinute: 2 } } });
    const first = await fetch(PATH, chat());
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect((await fetch(PATH, chat({ stream: true }))).status).toBe(200);
    const third = await fetch(PATH, chat({ stream: true }));
    expect(third.status).toBe(429);
    expect(Object.fromEntries(third.headers)).toMatchObject({
      'retry-after': '30',
      'retry-after-ms': '30000',
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1m0s',
    });
    expect(await third.json()).toMatchObject({
      error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', param: null },
    });
    now += 30_000;
    expect((await fetch(PATH, chat())).status).toBe(200);
  });

  test('tokens: what a reply took counts for the next request', async () => {
    const { fetch } = await fakeService({ issue: { limits: { tokensPerMinute: 11 } } });
    await (await fetch(PATH, chat())).json();
    const second = await fetch(PATH, chat());
    expect(second.status).toBe(429);
    expect((await second.json()).error.message).toContain('11 tokens a minute');
  });

  test('tokens of a stream are counted by the time of its DONE, those of a broken one too', async () => {
    const engine = new FakeEngine({ deltas: ['a', 'b', 'c'], fail: new Error('x') });
    const { fetch } = await fakeService({ engine, issue: { limits: { tokensPerMinute: 10 } } });
    await (await fetch(PATH, chat({ stream: true }))).text();
    expect((await fetch(PATH, chat({ stream: true }))).status).toBe(429);
  });

  test.each([
    ['before its prompt is computed', 'queued', 0],
    ['while its prompt is checked', 'checking', 0],
    ['once a server has it', 'sent', 100],
    ['while its prompt is computed', 'prefill', 100],
  ] as const)('tokens: a request that is aborted %s', async (_, waiting, paid) => {
    const engine = new FakeEngine({ waiting, acceptAfterMs: 60_000 });
    const issue = { limits: { tokensPerMinute: 1000 } };
    const { fetch } = await fakeService({ engine, now: () => 0, issue });
    const gone = new AbortController();
    const messages = [{ role: 'user', content: 'x'.repeat(384) }];
    const first = fetch(PATH, { ...chat({ stream: true, messages }), signal: gone.signal });
    const aborted = first.then((response) => response.text()).catch((error: unknown) => error);
    await expect.poll(() => engine.running).toBe(1);
    gone.abort();
    expect(await aborted).toBe(gone.signal.reason);
    engine.reply = () => ({});
    const { headers } = await fetch(PATH, chat({ max_tokens: 3 }));
    expect(headers.get('x-ratelimit-remaining-tokens')).toBe(String(1000 - paid - 10));
  });

  test('tokens: what is reserved counts the arguments of tool calls', async () => {
    const reserved = async (json: string): Promise<number> => {
      const { fetch } = await fakeService({ issue: { limits: { tokensPerMinute: 10_000 } } });
      const call = { id: 'call00001', type: 'function', function: { name: 'f', arguments: json } };
      const messages = [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: 'ok' },
      ];
      const { status, headers } = await fetch(PATH, chat({ messages }));
      expect(status).toBe(200);
      return 10_000 - Number(headers.get('x-ratelimit-remaining-tokens'));
    };
    const long = JSON.stringify({ a: 'x'.repeat(4000) });
    expect((await reserved(long)) - (await reserved('{}'))).toBeGreaterThanOrEqual(1000);
  });

  test('tokens: a request larger than the limit waits for all of it, and is not refused forever', async () => {
    let now = 1_700_000_000_000;
    const { fetch } = await fakeService({ now: () => now, issue: { limits: { tokensPerMinute: 50 } } });
    const large = () => fetch(PATH, chat({ max_tokens: 1000 }));
    expect((await large()).status).toBe(200);
    const second = await large();
    expect(second.status).toBe(429);
    now += Number(second.headers.get('retry-after-ms'));
    expect((await large()).status).toBe(200);
  });

  test.each([
    ['/v1/rerank', { ...ENDPOINTS.rerank.sample, query: 'x'.repeat(1e6) }],
    ['/v1/decisions', { ...ENDPOINTS.decision.sample, input: 'x'.repeat(1e6) }],
  ])('tokens: a text that no context holds does not use them up: %s', async (path, json) => {
    const { fetch } = await fakeService({ issue: { limits: { tokensPerMinute: 10_000 } } });
    const { headers } = await fetch(path, { json });
    expect(Number(headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThan(5000);
  });

  test('is told so only once the request is known to be good', async () => {
    const { fetch } = await fakeService({ issue: { limits: { requestsPerMinute: 1 } } });
    await fetch(PATH, chat());
    expect((await fetch(PATH, chat({ n: 0 }))).status).toBe(400);
    expect((await fetch(PATH, chat({ model: 'none' }))).status).toBe(404);
    expect((await fetch(PATH, chat())).status).toBe(429);
  });

  test('counts what generates, and no other path or method', async () => {
    const { fetch } = await fakeService({ issue: { limits: { requestsPerMinute: 1 } } });
    expect((await fetch('/v1/engines/a/completions', chat())).status).toBe(404);
    expect((await fetch(PATH, { method: 'DELETE' })).status).toBe(405);
    expect((await fetch('/v1/responses', { method: 'HEAD' })).status).toBe(405);
    expect((await fetch(PATH, chat())).status).toBe(200);
    expect((await fetch(PATH, chat())).status).toBe(429);
  });

  test('may still embed and list', async () => {
    const { fetch } = await fakeService({ issue: { limits: { requestsPerMinute: 1 } } });
    await fetch(PATH, chat());
    await fetch(PATH, chat());
    const embedded = await fetch('/v1/embeddings', { json: { model: 'jade-mole-4', input: 'a' } });
    expect([embedded.status, (await fetch('/v1/models')).status]).toEqual([200, 200]);
  });
});

const ranking = { ...ENDPOINTS.rerank.sample, documents: Array.from({ length: 20 }, () => 'Hello') };
const speech = { model: 'silver-lark-4', input: 'Hello there. '.repeat(3) };
const OTHER: Record<string, object> = { speech, rerank: ranking, reranking: ranking, rerankV2: ranking };

/** Each endpoint that an engine works for, with a body. Forms have no smallest JSON body. */
const METERED = ALL_ENDPOINTS.flatMap(([name, { path, isMetered, sample }]) =>
  isMetered ? [[name, path, OTHER[name] ?? sample] as const] : [],
);

describe.each(METERED)('each limit of a key holds for %s', (_, path, sample) => {
  const valid = (): BodyInit => {
    if (sample) return JSON.stringify(sample);
    const form = new FormData();
    form.set('file', new File(['sound'], 'a.wav'));
    form.set('model', 'coral-wren-4');
    return form;
  };
  const models = catalogDirectory(async () =>
    catalogOf(
      modelOf('amber-phoenix-4'),
      modelOf('coral-wren-4', [], 'transcription'),
      modelOf('silver-lark-4', [], 'speech'),
      modelOf('jade-mole-4', [], 'embedding'),
    ),
  );
  const limited = async (limits: Partial<KeyLimits>) => {
    const fake = await fakeService({ models, issue: { limits } });
    return { ...fake, send: (content: BodyInit) => fake.fetch(path, { method: 'POST', body: content }) };
  };

  test('requests', async () => {
    const { send } = await limited({ requestsPerMinute: 1 });
    expect((await send(valid())).status).toBe(200);
    expect((await send(valid())).status).toBe(429);
  });

  test('tokens', async () => {
    const { send } = await limited({ tokensPerMinute: 40 });
    const statuses: number[] = [];
    for (let sent = 0; sent < 8; sent++) statuses.push((await send(valid())).status);
    expect([statuses[0], statuses.at(-1)]).toEqual([200, 429]);
  });

  test('in flight', async () => {
    const { fetch, send, engine } = await limited({ inFlight: 1 });
    const started = createDeferred();
    const pull = (): Promise<void> => {
      started.resolve();
      return new Promise(() => undefined);
    };
    const endless = new ReadableStream({ pull }, { highWaterMark: 0 });
    const gone = new AbortController();
    const headers = { 'content-type': sample ? 'application/json' : 'multipart/form-data; boundary=x' };
    const upload = { headers, body: endless, signal: gone.signal, duplex: 'half' } as RequestInit;
    const first = fetch(path, upload).catch((error: unknown) => error);
    await started.promise;
    expect((await send(valid())).status).toBe(429);
    gone.abort();
    await first;
    expect((await send(valid())).status).toBe(200);
    expect(engine.running).toBe(0);
  });
});

test('a request over the limit in flight is refused before its body is read', async () => {
  const { fetch } = await fakeService({ issue: { limits: { inFlight: 1 } } });
  const gone = new AbortController();
  const started = createDeferred();
  let pulled = 0;
  const upload = (signal: AbortSignal): Promise<Response> => {
    const pull = async (): Promise<void> => {
      pulled++;
      started.resolve();
      await new Promise(() => undefined);
    };
    const body = new ReadableStream({ pull }, { highWaterMark: 0 });
    return fetch(PATH, { body, signal, duplex: 'half' } as RequestInit);
  };
  const first = upload(gone.signal).catch((error: unknown) => error);
  await started.promise;
  expect((await upload(new AbortController().signal)).status).toBe(429);
  expect(pulled).toBe(1);
  gone.abort();
  await first;
  expect((await fetch(PATH, chat())).status).toBe(200);
});

test('the body is not looked at without a key', async () => {
  const { service } = await fakeService();
  const body = new ReadableStream({ pull: () => new Promise(() => {}) });
  const request = new Request(`https://site.example${PATH}`, {
    method: 'POST',
    body,
    duplex: 'half',
  } as RequestInit);
  expect((await service(request)).status).toBe(401);
  expect(request.bodyUsed).toBe(false);
});

test('keys that cannot be read are a 500 that tells nothing of the inside', async () => {
  const broken: KeyStore = {
    admit: () => Promise.reject(new Error('disk /dev/sda1')),
    enter: () => Promise.resolve(null),
    reserve: () => Promise.resolve({ retryAfterMs: null, taken: 0, limits: null }),
    settle: () => Promise.resolve(),
  };
  const { fetch } = await fakeService({ keys: broken } as Partial<Parameters<typeof fakeService>[0]>);
  const response = await fetch('/v1/models');
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: 'storage_unavailable' } });
});

test.each([
  [PATH, 'messages'],
  ['/v1/responses', 'input'],
])('too many items are refused before each is looked at, with their number: %s', async (path, param) => {
  const json = { model: 'amber-phoenix-4', [param]: Array.from({ length: 20_000 }, () => 1) };
  const { error } = await (await (await fakeService()).fetch(path, { json })).json();
  const message = `\`${param}\` must have at most 8192 elements, but an array of length 20000 was given.`;
  expect(error).toMatchObject({ param, message });
});
