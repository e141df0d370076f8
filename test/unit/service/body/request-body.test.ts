import { setImmediate } from 'node:timers/promises';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { STEPS_OF_A_SECOND, stepsOf } from '../../../support/steps-of.ts';
import { fakeService, type FakeService } from '../../../support/fake-service.ts';

/** Each took seconds or minutes, or overflowed the stack, when only the size of the body was bounded. */

const MAX_BYTES = 8 * 1024 * 1024;
const times = (piece: string, count: number) => Array.from({ length: count }, () => piece).join(',');
const members = (count: number) => Array.from({ length: count }, (_, index) => `"${index}":1`).join(',');
const longName = (index: number) => 'a'.repeat(16_400) + String(index).padStart(5, '0');
const longNames = (count: number) =>
  Array.from({ length: count }, (_, index) => `"${longName(index)}":1`).join(',');
const chat = (fields: string) =>
  `{"model":"amber-phoenix-4","messages":[{"role":"user","content":"Hi"}],${fields}}`;
const withMessages = (messages: string) => `{"model":"amber-phoenix-4","messages":${messages}}`;
const withInput = (model: string, input: string) => `{"model":"${model}","input":${input}}`;

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const EMBEDDINGS = '/v1/embeddings';
const SPEECH = '/v1/audio/transcriptions';
const toolCall = '{"id":"","type":"function","function":{"name":"","arguments":""}}';

/** Path, body, field. */
const REFUSED: Record<string, [string, string, string | null]> = {
  'content of 4,000,000 numbers': [
    CHAT,
    withMessages(`[{"role":"user","content":[${times('1', 4e6)}]}]`),
    'messages',
  ],
  'content of 40,000 numbers': [
    CHAT,
    withMessages(`[{"role":"user","content":[${times('1', 4e4)}]}]`),
    'messages[0].content',
  ],
  'too many messages': [CHAT, withMessages(`[${times('{}', 10_000)}]`), 'messages'],
  'messages that are all wrong': [CHAT, withMessages(`[${times('{}', 8000)}]`), 'messages[0].role'],
  'empty tool calls': [
    CHAT,
    withMessages(`[${times(`{"role":"assistant","tool_calls":[${times(toolCall, 128)}]}`, 50)}]`),
    'messages[0].tool_calls[0].id',
  ],
  'too many tool calls': [
    CHAT,
    withMessages(`[{"role":"assistant","tool_calls":[${times('1', 1000)}]}]`),
    'messages[0].tool_calls',
  ],
  'a large logit_bias': [CHAT, chat(`"logit_bias":{${members(40_000)}}`), 'logit_bias'],
  'a huge logit_bias': [CHAT, chat(`"logit_bias":{${members(400_000)}}`), 'logit_bias'],
  'a logit_bias of __proto__': [CHAT, chat('"logit_bias":{"__proto__":1}'), 'logit_bias.__proto__'],
  'large metadata': [CHAT, chat(`"metadata":{${members(17)}}`), 'metadata'],
  'metadata with a huge key': [CHAT, chat(`"metadata":{"${'k'.repeat(100_000)}":""}`), 'metadata'],
  'many modalities': [CHAT, chat(`"modalities":[${times('1', 40_000)}]`), 'modalities'],
  'a long stop sequence': [CHAT, chat(`"stop":"${'s'.repeat(100_000)}"`), 'stop'],
  'many fields': [CHAT, chat(members(100_000)), null],
  'names of one length beyond 16,383 characters': [
    CHAT,
    chat(`"tools":[{"function":{"parameters":{${longNames(450)}}}}]`),
    'tools',
  ],
  'names of one length for a request with images': [
    '/v1/decisions',
    `{"model":"amber-phoenix-4","input":[{"data":{${longNames(1900)}}}]}`,
    'input',
  ],
  'many long ids of calls': [
    RESPONSES,
    withInput(
      'amber-phoenix-4',
      `[${Array.from({ length: 1900 }, (_, index) => `{"type":"function_call","call_id":"${longName(index)}","name":"f","arguments":""}`).join(',')}]`,
    ),
    'input[0].call_id',
  ],
  'many long names of legacy calls': [
    CHAT,
    withMessages(
      `[${Array.from({ length: 1900 }, (_, index) => `{"role":"assistant","function_call":{"name":"${longName(index)}","arguments":""}}`).join(',')}]`,
    ),
    'messages[0].function_call.name',
  ],
  'many long names that a strict schema requires': [
    CHAT,
    chat(
      `"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object","additionalProperties":false,"properties":{"a":{}},"required":[${Array.from({ length: 1500 }, (_, index) => `"${longName(index)}"`).join(',')}]}}}`,
    ),
    'response_format.json_schema.schema.required',
  ],
  'nested arrays': [CHAT, '['.repeat(MAX_BYTES), null],
  'nested objects': [CHAT, '{"a":'.repeat(MAX_BYTES / 5), 'a'],
  'nested input': [RESPONSES, withInput('amber-phoenix-4', '['.repeat(1e6)), 'input'],
  'input of 400,000 numbers': [RESPONSES, withInput('amber-phoenix-4', `[${times('1', 4e5)}]`), 'input'],
  'input of 40,000 numbers': [RESPONSES, withInput('amber-phoenix-4', `[${times('1', 4e4)}]`), 'input'],
  'a long include': [
    RESPONSES,
    `{"model":"amber-phoenix-4","input":"a","include":[${times('1', 40_000)}]}`,
    'include',
  ],
  'prompts times choices': [
    '/v1/completions',
    `{"model":"amber-phoenix-4","prompt":[${times('"a"', 100)}],"n":100}`,
    'n',
  ],
  '100,000 nulls for token ids': [
    EMBEDDINGS,
    withInput('jade-mole-4', `[[${times('null', 1e5)}]]`),
    'input[0][0]',
  ],
  '300,000 negative token ids': [EMBEDDINGS, withInput('jade-mole-4', `[${times('-1', 3e5)}]`), 'input[0]'],
  '400,000 token ids': [EMBEDDINGS, withInput('jade-mole-4', `[${times('1', 4e5)}]`), 'input'],
  'many empty lists of tokens': [EMBEDDINGS, withInput('jade-mole-4', `[${times('[]', 2048)}]`), 'input[0]'],
};

describe('a body that would take long to validate is refused at once', () => {
  let service: FakeService;
  beforeAll(async () => {
    service = await fakeService();
  });

  test.each(Object.entries(REFUSED))('%s', async (_, [path, body, param]) => {
    let response = new Response();
    const steps = await stepsOf(async () => (response = await service.fetch(path, { body })));
    expect(steps).toBeLessThan(STEPS_OF_A_SECOND);
    const { error } = await response.json();
    expect([response.status, error.type, error.param]).toEqual([400, 'invalid_request_error', param]);
    expect(error.message.length).toBeLessThan(400);
  });

  test('and what is within the bounds is taken', async () => {
    const messages = times('{"role":"user","content":[{"type":"text","text":"a"}]}', 8000);
    expect((await service.fetch(CHAT, { body: withMessages(`[${messages}]`) })).status).toBe(200);
    const tokens = withInput('jade-mole-4', `[${times(`[${times('1', 146)}]`, 2048)}]`);
    expect((await service.fetch(EMBEDDINGS, { body: tokens })).status).toBe(200);
  });

  test('strings are not counted, whatever is in them', async () => {
    const content = JSON.stringify('[{",:\\"\\'.repeat(50_000));
    expect(
      (await service.fetch(CHAT, { body: withMessages(`[{"role":"user","content":${content}}]`) })).status,
    ).toBe(200);
  });

  test.each([CHAT, '/v1/completions', RESPONSES, EMBEDDINGS])(
    'a body to %s that breaks off is a 400',
    async (path) => {
      let pulled = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (pulled++ > 0) controller.error(new TypeError('The connection is gone.'));
          else controller.enqueue(new TextEncoder().encode('{"model":'));
        },
      });
      const response = await service.fetch(path, { body, duplex: 'half' } as RequestInit);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { message: expect.stringContaining('before it was complete') as string },
      });
    },
  );

  test.each([
    [CHAT, 'application/x-www-form-urlencoded'],
    [CHAT, 'multipart/form-data; boundary=x'],
    [EMBEDDINGS, 'application/octet-stream'],
    [SPEECH, 'application/x-www-form-urlencoded'],
    [SPEECH, 'multipart/mixed; boundary=x'],
    [SPEECH, 'multipart/form-data'],
    [SPEECH, 'application/json'],
    [SPEECH, ''],
  ])('a body to %s of the type "%s" is refused before it is read', async (path, type) => {
    let pulled = 0;
    const pull = (): void => void pulled++;
    const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
    const init = { body, headers: { 'content-type': type }, duplex: 'half' } as RequestInit;
    const answer = await service.fetch(path, init);
    const { error } = (await answer.json()) as { error: { message: string } };
    expect([answer.status, pulled]).toEqual([400, 0]);
    expect(error.message).toMatch(/content type|is of the type/);
  });

  test.each([
    [CHAT, 'application/json'],
    [SPEECH, 'multipart/form-data; boundary=x'],
  ])('a body to %s that stalls ends with its signal', async (path, type) => {
    const gone = new AbortController();
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull() {
        gone.abort(new Error('gone'));
        return new Promise(() => undefined);
      },
      cancel() {
        cancelled = true;
      },
    });
    const headers = { 'content-type': type };
    const init = { body, headers, signal: gone.signal, duplex: 'half' } as RequestInit;
    await expect(service.fetch(path, init)).rejects.toThrow('gone');
    expect(cancelled).toBe(true);
  });

  test('halves of surrogate pairs become replacement characters', async () => {
    const body = withMessages(String.raw`[{"role":"user","content":"\ufeffa\ud800b😀"}]`);
    expect((await service.fetch(CHAT, { body })).status).toBe(200);
    expect(service.engine.jobs.at(-1)).toMatchObject({
      input: { messages: [{ content: '\uFEFFa\uFFFDb😀' }] },
    });
  });
});

test('bodies that come together are parsed one by one, and other requests are answered between them', async () => {
  const { fetch } = await fakeService();
  let refused = 0;
  const body = chat(`"metadata":{${members(17)}}`);
  const bodies = Array.from({ length: 60 }, async () => {
    expect((await fetch(CHAT, { method: 'POST', body })).status).toBe(400);
    refused++;
  });
  await Promise.race(bodies);
  // A key would be hashed by another thread, which may wait for a processor.
  expect((await fetch('/v1/models', { key: null })).status).toBe(401);
  expect(refused).toBeLessThan(60);
  await Promise.all(bodies);
});

test('other work is done between the steps of a large body', async () => {
  const { fetch } = await fakeService();
  const steps = [vi.spyOn(TextDecoder.prototype, 'decode'), vi.spyOn(JSON, 'parse')];
  const other = vi.fn();
  const body = withMessages(`"${'a'.repeat(1e6)}"`);
  const ended = vi.fn();
  void fetch(CHAT, { method: 'POST', body }).then(ended);
  for (; ended.mock.calls.length === 0; other()) await setImmediate();
  const [decoded = 0, parsed = 0] = steps.map(({ mock }) => mock.invocationCallOrder.at(-1));
  expect(other.mock.invocationCallOrder.filter((at) => at > decoded && at < parsed)).not.toEqual([]);
});
