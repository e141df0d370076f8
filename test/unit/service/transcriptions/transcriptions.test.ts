import { expect, test } from 'vitest';

import { catalogDirectory } from '../../../../src/service/model-list/models.ts';
import { ServiceError } from '../../../../src/base/errors/service-error.ts';
import type { RequestLogEntry } from '../../../../src/protocol/request-log.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { type FakeService, fakeService } from '../../../support/fake-service.ts';
import { clientOf } from '../../../support/openai-client.ts';

const created = 1_700_000_000;
const models = catalogDirectory(async () => ({
  ownedBy: 'localtext',
  models: [
    { id: 'amber-phoenix-4', kind: 'chat', created, variants: [] },
    { id: 'coral-wren-4', kind: 'transcription', created, variants: [] },
  ],
}));
const file = new File(['sound'], 'a.wav', { type: 'audio/wav' });

function form(fields: Record<string, string | File>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  return data;
}

const send = (service: FakeService, fields: Record<string, string | File>, path = 'transcriptions') =>
  service.fetch(`/v1/audio/${path}`, { body: form(fields) });

test('the client gets what the engine hears, and the engine what the client sent', async () => {
  const service = await fakeService({ models });
  const { data, response } = await clientOf(service)
    .audio.transcriptions.create({ file, model: 'coral-wren-4', language: 'en', prompt: 'Wren.' })
    .withResponse();
  expect(data.text).toBe('Hello');
  expect(response.headers.get('localtext-served-by')).toBe('fake-weights-f32-node');
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('x-ratelimit-remaining-tokens')).not.toBeNull();
  const [job] = service.engine.transcriptions;
  expect(job).toMatchObject({ kind: 'transcription', model: 'coral-wren-4', task: 'transcribe' });
  expect(job).toMatchObject({ language: 'en', prompt: 'Wren.', times: [], stream: false });
  expect(await job?.file.text()).toBe('sound');
});

test.each([false, true])(
  'a stream, and a translation; a server sends the whole text: %s',
  async (sendsWholeText) => {
    const service = await fakeService({ models });
    service.engine.sendsWholeText = sendsWholeText;
    const stream = await clientOf(service).audio.transcriptions.create({
      file,
      model: 'coral-wren-4',
      stream: true,
    });
    const events: [string, string][] = [];
    for await (const event of stream)
      events.push([event.type, event.type === 'transcript.text.delta' ? event.delta : event.text]);
    expect(events).toEqual([
      ['transcript.text.delta', 'Hello'],
      ['transcript.text.done', 'Hello'],
    ]);
    await clientOf(service).audio.translations.create({ file, model: 'coral-wren-4' });
    expect(service.engine.transcriptions[1]?.task).toBe('translate');
    expect(service.engine.origins.map((origin) => origin?.background)).toEqual([undefined, true]);
  },
);

test.for([
  ['no model', { file }, 400, 'model'],
  ['no file', { model: 'coral-wren-4' }, 400, 'file'],
  ['no such format', { model: 'coral-wren-4', file, response_format: 'xml' }, 400, 'response_format'],
  ['a file that is text', { model: 'coral-wren-4', file: 'x' }, 400, 'file'],
  ['another kind of model', { model: 'amber-phoenix-4', file }, 404, 'model'],
  ['no such model', { model: 'whisper-1', file }, 404, 'model'],
] as const)('%s', async ([, fields, status, param]) => {
  const service = await fakeService({ models });
  const answer = await send(service, fields);
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error', param } });
  expect(service.engine.transcriptions).toEqual([]);
});

test.for([
  ['JSON', '{"model":"coral-wren-4"}', 'application/json'],
  ['no boundary', 'x', 'multipart/form-data'],
  ['nothing', '', 'multipart/form-data; boundary=x'],
  [
    'a form that breaks off',
    '--x\r\ncontent-disposition: form-data; name="model"',
    'multipart/form-data; boundary=x',
  ],
  ['text', 'x', 'text/plain'],
] as const)('400 for %s', async ([, body, type]) => {
  const service = await fakeService({ models });
  const answer = await service.fetch('/v1/audio/transcriptions', {
    method: 'POST',
    body,
    headers: { 'content-type': type },
  });
  expect(answer.status).toBe(400);
  expect(service.engine.transcriptions).toEqual([]);
});

test('10,000 parts are refused before they are parsed, and a form above the limit before it is read', async () => {
  const service = await fakeService({ models });
  const part = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n';
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const many = await service.fetch('/v1/audio/transcriptions', {
    body: `${part.repeat(10_000)}--x--`,
    headers,
  });
  expect(many.status).toBe(400);
  expect(await many.text()).toContain('more than 100 parts');
  const large = await service.fetch('/v1/audio/transcriptions', {
    body: new Uint8Array(26.5 * 1024 * 1024),
    headers,
  });
  expect(large.status).toBe(413);
});

test('what the engine refuses is a status, of a stream too', async () => {
  const service = await fakeService({ models });
  const refusal = {
    type: 'invalid_request_error' as const,
    code: null,
    param: 'file',
    message: '`file` is empty.',
  };
  service.engine.refuseFile = new ServiceError({ status: 400, ...refusal });
  for (const extra of [{}, { stream: 'true' }]) {
    const answer = await send(service, { file, model: 'coral-wren-4', ...extra });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ error: refusal });
  }
});

test("a key's limits count it: requests, and the tokens of its text", async () => {
  const service = await fakeService({ models, issue: { limits: { requestsPerMinute: 1 } } });
  expect((await send(service, { file, model: 'coral-wren-4' })).status).toBe(200);
  const second = await send(service, { file, model: 'coral-wren-4' });
  expect(second.status).toBe(429);
  expect(service.engine.transcriptions).toHaveLength(1);
});

test('a request that is limited to the device reaches no server', async () => {
  const service = await fakeService({ models });
  const request = { file, model: 'coral-wren-4' };
  await clientOf(service).audio.transcriptions.create(request, { headers: { 'localtext-route': 'device' } });
  await clientOf(service).audio.transcriptions.create(request);
  expect(service.engine.transcriptions.map(({ deviceOnly }) => deviceOnly)).toEqual([true, undefined]);
});

test('a client that leaves is logged as such, and reads no error', async () => {
  const entries: RequestLogEntry[] = [];
  const service = await fakeService({ models, log: (entry) => entries.push(entry) });
  service.engine.stallsAfterWord = true;
  const leave = new AbortController();
  const body = form({ file, model: 'coral-wren-4', stream: 'true' });
  const answer = await service.fetch('/v1/audio/transcriptions', { body, signal: leave.signal });
  leave.abort(new Error('left'));
  await expect(answer.text()).rejects.toThrow('left');
  expect(entries.at(-1)).toMatchObject({ state: 'aborted', status: 200, error: null });
});

test('a client that does not read holds up the transcription', async () => {
  const engine = new FakeEngine();
  let made = 0;
  const words = function* () {
    for (; made < 5000; made++) yield 'word '.repeat(1000);
  };
  engine.words = words();
  const service = await fakeService({ models, engine });
  const answer = await send(service, { file, model: 'coral-wren-4', stream: 'true' });
  await expect.poll(() => made).toBeGreaterThan(5);
  expect(made).toBeLessThan(20);
  const text = await answer.text();
  expect(made).toBe(5000);
  expect(text.length).toBeGreaterThan(25_000_000);
});

test('a transcription that is cancelled is counted', async () => {
  const limits = { requestsPerMinute: 100, tokensPerMinute: 1000 };
  const service = await fakeService({ models, issue: { limits } });
  service.engine.stallsAfterWord = true;
  const statuses: number[] = [];
  for (let sent = 0; sent < 10; sent++) {
    const leave = new AbortController();
    const body = form({ file, model: 'coral-wren-4', stream: 'true' });
    const answer = await service.fetch('/v1/audio/transcriptions', { body, signal: leave.signal });
    statuses.push(answer.status);
    leave.abort();
    await answer.text().catch(() => '');
  }
  // Each keeps the 256 tokens that were reserved for it.
  expect(statuses).toEqual([200, 200, 200, 429, 429, 429, 429, 429, 429, 429]);
});
