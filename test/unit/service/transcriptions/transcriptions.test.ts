import { createOpenAI } from '@ai-sdk/openai';
import { experimental_transcribe as transcribe } from 'ai';
import { expect, test } from 'vitest';

import { catalogDirectory } from '../../../../src/service/model-list/models.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { type FakeService, fakeService } from '../../../support/fake-service.ts';
import { clientOf } from '../../../support/openai-client.ts';
import { catalogOf, modelOf } from '../../../support/catalogs.ts';

const models = catalogDirectory(async () =>
  catalogOf(modelOf('amber-phoenix-4'), modelOf('coral-wren-4', [], 'transcription')),
);
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
    const service = await fakeService({ models, now: () => 0, issue: { limits: { tokensPerMinute: 1000 } } });
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
    const translating = clientOf(service).audio.translations.create({ file, model: 'coral-wren-4' });
    // The shortest sound is charged what is reserved for it.
    expect((await translating.asResponse()).headers.get('x-ratelimit-remaining-tokens')).toBe('488');
    expect(service.engine.transcriptions[1]?.task).toBe('translate');
    expect(service.engine.origins.map((origin) => origin?.background)).toEqual([undefined, true]);
  },
);

test('the AI SDK reads a transcript, and what is wrong with a request', async () => {
  const { service, key } = await fakeService({ models });
  const provider = createOpenAI({
    baseURL: 'https://site.example/v1',
    apiKey: key,
    fetch: (url, init) => service(new Request(url, init)),
  });
  const asked = { model: provider.transcription('coral-wren-4'), audio: new Uint8Array(9), maxRetries: 0 };
  const { text, language, durationInSeconds } = await transcribe({
    ...asked,
    providerOptions: { openai: { timestampGranularities: ['segment'] } },
  });
  expect([text, language, durationInSeconds]).toEqual(['Hello', 'en', 1]);
  const refused = transcribe({ ...asked, providerOptions: { openai: { language: 'Elvish' } } });
  await expect(refused).rejects.toThrow(/`language`/);
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

test('a form says what is wrong with it', async () => {
  const service = await fakeService({ models });
  const messageOf = async (body: BodyInit, headers = {}) =>
    (await service.fetch('/v1/audio/transcriptions', { body, headers })).text();
  const two = form({ file, model: 'coral-wren-4' });
  two.append('file', file);
  expect(await messageOf(two)).toContain('`file` is there twice');
  expect(await messageOf(form({ file: 'a.wav', model: 'coral-wren-4' }))).toContain('`file` must be a file');
  for (const name of ['model', 'prompt', 'timestamp_granularities[0]'])
    expect(await messageOf(form({ file, model: 'coral-wren-4', [name]: file }))).toContain(
      `\`${name}\` must be text`,
    );
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  expect(await messageOf('--y--', headers)).toContain(
    'a name, a `filename` or a boundary as its content type has it is missing',
  );
});

test('a request that is limited to the device reaches no server', async () => {
  const service = await fakeService({ models });
  const request = { file, model: 'coral-wren-4' };
  await clientOf(service).audio.transcriptions.create(request, { headers: { 'localtext-route': 'device' } });
  await clientOf(service).audio.transcriptions.create(request);
  expect(service.engine.transcriptions.map(({ deviceOnly }) => deviceOnly)).toEqual([true, undefined]);
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
