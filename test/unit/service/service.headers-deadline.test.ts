import { getEventListeners } from 'node:events';

import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { ErrorCode } from '../../../src/base/errors/error-codes.ts';
import { ServiceError } from '../../../src/base/errors/service-error.ts';
import type { RequestLogEntry } from '../../../src/protocol/request-log.ts';
import { SAMPLES } from '../../../src/service/endpoints.ts';
import { FakeEngine, type FakeReply } from '../../support/fake-engine.ts';
import { chat, fakeService } from '../../support/fake-service.ts';

const MINUTE = 60_000;
const ENDPOINTS = SAMPLES.filter(({ name }) => !/^count|^decision/.test(name)).map(
  ({ path, sample }) => [path, sample] as const,
);
const STREAMING = SAMPLES.flatMap(({ path, sample, streams }) => (streams ? [[path, sample] as const] : []));
const error = (status: number, code: ErrorCode) =>
  new ServiceError({
    status,
    type: status === 400 ? 'invalid_request_error' : 'server_error',
    code,
    param: null,
    message: 'No.',
  });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets time pass, and then databases their turns of the real event loop. */
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  for (let turns = 0; turns < 50; turns++) await turn();
}

async function begun(engine: FakeEngine, jobs: number): Promise<void> {
  // Keys are looked up and hashed outside of the fake time.
  while (engine.jobs.length < jobs) await turn();
}

/** Sends a request; `response` is null until its headers are there. */
async function ask(reply: FakeReply, path: string, json: Record<string, unknown>) {
  const engine = new FakeEngine(reply);
  engine.embedding = reply;
  const { fetch } = await fakeService({ engine });
  const seen: { response: Response | null } = { response: null };
  void fetch(path, { json }).then((response) => (seen.response = response));
  await begun(engine, 1);
  return { engine, seen };
}

const codeOf = async (response: Response | null) => (await response?.json())?.error.code as string | null;

test.each([
  ...ENDPOINTS.map(([path, json]) => [path, json, 20_000, 4 * MINUTE] as const),
  ...STREAMING.map(([path, json]) => [path, { ...json, stream: true }, 50_000, 70_000] as const),
])('%s %j has the status of a refused prompt and of a failed load, however late', async (...given) => {
  const [path, json, checkMs, loadMs] = given;
  for (const [status, code, waiting, acceptAfterMs] of [
    [400, 'context_length_exceeded', 'checking', checkMs],
    [500, 'out_of_memory', 'loading', loadMs],
  ] as const) {
    const { seen } = await ask({ refuse: error(status, code), acceptAfterMs, waiting }, path, json);
    await pass(acceptAfterMs - 1000);
    expect(seen.response).toBeNull();
    await pass(2000);
    expect(seen.response?.status).toBe(status);
    expect(await codeOf(seen.response)).toBe(code);
  }
});

describe.each(ENDPOINTS)('an answer of %s that is not streamed', (path, json) => {
  test('fails before the browser ends it where nothing has begun, and stops waiting', async () => {
    const { engine, seen } = await ask({ acceptAfterMs: 10 * MINUTE, waiting: 'loading' }, path, json);
    await pass(289_000);
    expect(seen.response).toBeNull();
    await pass(2000);
    expect(seen.response?.status).toBe(500);
    expect(await codeOf(seen.response)).toBe('model_not_ready');
    expect(engine.running).toBe(0);
  });

  test('has its headers before the browser ends it where the engine computes, and its body after', async () => {
    const { seen } = await ask({ acceptAfterMs: 6 * MINUTE, waiting: 'prefill' }, path, json);
    await pass(291_000);
    expect(seen.response?.status).toBe(200);
    await pass(2 * MINUTE);
    expect(await seen.response?.json()).toMatchObject({ model: json['model'] });
  });
});

test('a client that leaves between the headers and the body is logged as such, and ends the engine’s work', async () => {
  const engine = new FakeEngine({ acceptAfterMs: 6 * MINUTE, waiting: 'prefill' });
  const entries: RequestLogEntry[] = [];
  const { fetch } = await fakeService({ engine, log: (entry) => entries.push(entry) });
  const leave = new AbortController();
  const answer = fetch('/v1/chat/completions', { ...chat(), signal: leave.signal });
  await begun(engine, 1);
  await pass(291_000);
  expect((await answer).status).toBe(200);
  leave.abort();
  await pass(1000);
  expect(entries.at(-1)).toMatchObject({ state: 'aborted', status: 200, error: null });
  expect(engine.running).toBe(0);
});

describe.each(STREAMING)('a stream of %s', (path, body) => {
  const json = { ...body, stream: true };

  test('that loads for long begins with comments that say so, and fails with an event', async () => {
    const reply = {
      refuse: error(500, 'out_of_memory'),
      acceptAfterMs: 2 * MINUTE,
      waiting: 'loading' as const,
    };
    const { seen } = await ask(reply, path, json);
    await pass(80_000);
    expect(seen.response?.status).toBe(200);
    const text = seen.response?.text();
    await pass(MINUTE);
    expect((await text)?.split(': waiting (loading)').length).toBeGreaterThan(5);
    expect(await text).toContain('out_of_memory');
    expect(await text).not.toContain('[DONE]');
  });

  test.each([
    ['in a queue', 'queued', 3000],
    ['for its prefill', 'prefill', 100],
  ] as const)('that waits %s has its headers soon, so that an abort is seen', async (_, waiting, ms) => {
    const { engine, seen } = await ask({ acceptAfterMs: MINUTE, waiting }, path, json);
    await pass(ms);
    expect(seen.response?.status).toBe(200);
    await seen.response?.body?.cancel();
    await pass(100);
    expect([engine.running, engine.aborted]).toEqual([0, 1]);
  });
});

test('a stream of two prompts waits until both are checked', async () => {
  const engine = new FakeEngine((_, index) =>
    index === 0
      ? { waiting: 'prefill', acceptAfterMs: 1000 }
      : { waiting: 'checking', acceptAfterMs: 500, refuse: error(400, 'context_length_exceeded') },
  );
  const { fetch } = await fakeService({ engine });
  const json = { model: 'amber-phoenix-4', prompt: ['short', 'long'], stream: true };
  const answer = fetch('/v1/completions', { json });
  await begun(engine, 2);
  await pass(2000);
  expect((await answer).status).toBe(400);
});

test.each([
  ['weights_unavailable', 'false'],
  ['download_cancelled', 'false'],
  ['build_replaced', 'false'],
  ['worker_blocked', 'false'],
  ['upstream_redirected', 'false'],
  ['storage_unavailable', 'false'],
  ['engine_lost', null],
] as const)('clients are told whether %s may pass', async (code, retry) => {
  const { seen } = await ask({ refuse: error(500, code) }, '/v1/chat/completions', chat().json);
  await pass(100);
  expect(seen.response?.headers.get('x-should-retry')).toBe(retry);
});

test.each([
  ...ENDPOINTS,
  ...STREAMING.map(([path, json]) => [path, { ...json, stream: true }] as const),
  ['/v1/chat/completions', chat({ model: 'none' }).json],
  ['/v1/models', null],
] as const)('no listener is left on the signal of a request: %s, %j', async (path, json) => {
  vi.useRealTimers();
  const { service, key } = await fakeService();
  const request = new Request(`https://site.example${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(json && { method: 'POST', body: JSON.stringify(json) }),
  });
  await (await service(request)).text();
  expect(getEventListeners(request.signal, 'abort')).toEqual([]);
});
