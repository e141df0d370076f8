import { expect, test } from 'vitest';
import { ServiceError } from '../../../../src/base/errors/service-error.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { chat, fakeService } from '../../../support/fake-service.ts';

const CHAT = '/v1/chat/completions/input_tokens';
const RESPONSES = '/v1/responses/input_tokens';
const response = { model: 'amber-phoenix-4', input: 'Hi', instructions: 'Be brief.' };
const tool = { name: 'f', parameters: { type: 'object', properties: { a: { type: 'string' } } } };

test('the engine counts the same prompt that it would answer, and generates nothing', async () => {
  const engine = new FakeEngine({ promptTokens: 21 });
  const { fetch } = await fakeService({ engine });
  const chatBody = chat({ tools: [{ type: 'function', function: tool }] });
  const responseBody = { json: { ...response, tools: [{ type: 'function', ...tool }] } };
  const bodies: unknown[] = [];
  for (const [path, init] of [
    [CHAT, chatBody],
    ['/v1/chat/completions', chatBody],
    [RESPONSES, responseBody],
    ['/v1/responses', responseBody],
  ] as const)
    bodies.push(await (await fetch(path, init)).json());
  const own = { object: 'response.input_tokens', input_tokens: 21 };
  expect(bodies).toMatchObject([own, { usage: { prompt_tokens: 21 } }, own, { usage: { input_tokens: 21 } }]);
  const [counted, answered, countedResponse, answeredResponse] = engine.jobs;
  expect(counted).toEqual({ ...answered, countOnly: true });
  expect(countedResponse).toEqual({ ...answeredResponse, countOnly: true });
  expect(engine.running).toBe(0);
});

test('an earlier response is counted too', async () => {
  const engine = new FakeEngine();
  const { fetch } = await fakeService({ engine });
  const { id } = (await (await fetch('/v1/responses', { json: response })).json()) as { id: string };
  await fetch(RESPONSES, { json: { ...response, previous_response_id: id } });
  const [, counted] = engine.jobs;
  expect(counted).toMatchObject({ input: { messages: { length: 4 } } });
});

test('a count takes a request from the key’s limit, and a few tokens', async () => {
  const limits = { requestsPerMinute: 2, tokensPerMinute: 1000 };
  const { fetch } = await fakeService({ issue: { limits } });
  await (await fetch(CHAT, chat())).text();
  const { status, headers } = await fetch(CHAT, chat());
  expect(status).toBe(200);
  expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
  // What the first had reserved is free again.
  const reserved = 1000 - Number(headers.get('x-ratelimit-remaining-tokens'));
  expect(reserved).toBeLessThan(350);
  expect((await fetch(CHAT, chat())).status).toBe(429);
});

test('counts use up a limit by tokens', async () => {
  const limits = { requestsPerMinute: 100, tokensPerMinute: 1000 };
  const { fetch } = await fakeService({ issue: { limits }, engine: new FakeEngine({ promptTokens: 100 }) });
  const statuses: number[] = [];
  for (let sent = 0; sent < 30; sent++) {
    const { status } = await fetch(CHAT, chat());
    statuses.push(status);
  }
  expect(statuses).toContain(200);
  expect(statuses.at(-1)).toBe(429);
});

test.each([
  [CHAT, chat({ temperature: 9 }), 'temperature'],
  [RESPONSES, { json: { ...response, background: true } }, 'background'],
])('%s refuses what the reply would be refused for', async (path, init, param) => {
  const { fetch } = await fakeService();
  const answer = await fetch(path, init);
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }]);
});

const tooLong = new ServiceError({
  status: 400,
  type: 'invalid_request_error',
  code: 'context_length_exceeded',
  param: 'messages',
  message: 'Too long.',
});

test('truncation is passed to the engine, and offered where a response has none', async () => {
  const engine = new FakeEngine({ refuse: tooLong });
  const { fetch } = await fakeService({ engine });
  const messageOf = async (path: string, json: object): Promise<string> =>
    ((await (await fetch(path, { json })).json()) as { error: { message: string } }).error.message;
  expect(await messageOf('/v1/responses', response)).toBe('Too long. Or set `truncation` to "auto".');
  expect(await messageOf('/v1/responses', { ...response, truncation: 'auto' })).toBe('Too long.');
  expect(await messageOf('/v1/chat/completions', chat().json)).toBe('Too long.');
  expect(engine.jobs.map((job) => 'truncate' in job)).toEqual([false, true, false]);
});
