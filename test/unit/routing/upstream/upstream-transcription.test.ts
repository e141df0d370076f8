import type { ServerResponse } from 'node:http';
import { beforeEach, expect, test } from 'vitest';

import type { EngineRequester } from '../../../../src/protocol/service-dependencies.ts';
import { textOf } from '../../../../src/service/transcriptions/transcript-formats.ts';
import type { CatalogModel } from '../../../../src/catalog/catalog.ts';
import type { Job } from '../../../../src/jobs/kinds.ts';
import type { TranscriptionEvent, TranscriptionJob } from '../../../../src/jobs/transcription.ts';
import { never } from '../../../support/never.ts';
import { upstreamModel } from '../../../support/upstream-model.ts';

type Answer = (response: ServerResponse) => void;

const SOUND = new Uint8Array([82, 73, 70, 70, 0, 255, 13, 10]);
const file = new File([SOUND], 'a.wav', { type: 'audio/wav' });

const upstream = upstreamModel({
  kind: 'transcription',
  engine: 'whisper',
  path: 'a/b',
  theirName: 'whisper-1',
  async read(path, { authorization, 'content-type': type = '' }, body) {
    const form = await new Response(body, { headers: { 'content-type': type } }).formData();
    return { path, authorization, form };
  },
});
const onDevice: TranscriptionJob[] = [];

beforeEach(() => void onDevice.splice(0));

const device: EngineRequester = {
  async *run(job: Job) {
    if (job.kind !== 'transcription') throw new Error('the device transcribes alone');
    onDevice.push(job);
    yield { type: 'accepted', fingerprint: 'device' };
    const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 1 };
    const transcript = { answer: { text: 'by the device' } };
    yield { type: 'done', transcript, usage, timings: { queueMs: 0, computeMs: 0 } };
  },
};

const entry = { id: 'm', kind: 'transcription' as const, created: 0, ownedBy: 'us', defaults: {} };

const models = (route?: NonNullable<CatalogModel['route']>): EngineRequester =>
  upstream.connect(device, route).engine;

interface Asked {
  deltas: string[];
  text: string | undefined;
  last: TranscriptionEvent | undefined;
}

async function ask(engine: EngineRequester, more: Partial<TranscriptionJob> = {}): Promise<Asked> {
  const fixed = { kind: 'transcription', model: 'm', task: 'transcribe', file } as const;
  const job: TranscriptionJob = { ...fixed, times: [], stream: false, others: [], ...more };
  const deltas: string[] = [];
  let last: TranscriptionEvent | undefined;
  for await (const event of engine.run(job, { id: 'r', signal: never, model: entry })) {
    if (event.type === 'stage') continue;
    if (event.type === 'delta') deltas.push(event.text);
    last = event;
    // As the service does.
    if (event.type === 'done') break;
  }
  return { deltas, text: last?.type === 'done' ? textOf(last.transcript) : undefined, last };
}

const json =
  (body: unknown, status = 200): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const events =
  (...given: object[]): Answer =>
  (response) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
      .end(given.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));

test('the form is forwarded, with the key and the model’s name there', async () => {
  const segments = [{ start: 0, end: 1, text: 'Hello.' }];
  const whole = { text: 'Hello.', segments, words: [], usage: { input_tokens: 50, output_tokens: 4 }, x: 1 };
  upstream.answer = json(whole);
  // A second of sound.
  const bytes = new Uint8Array(1000).fill(7);
  const { last } = await ask(models(), {
    file: new File([bytes], 'a.wav', { type: 'audio/wav' }),
    language: 'de',
    temperature: 0.5,
    times: ['segment', 'word'],
    others: [['include[]', 'logprobs']],
  });
  expect(last).toMatchObject({
    transcript: { answer: whole },
    usage: { promptTokens: 50, completionTokens: 4 },
  });
  const [{ path, authorization, form } = { form: new FormData() }] = upstream.asked;
  expect([path, authorization]).toEqual(['/v1/audio/transcriptions', 'Bearer secret']);
  expect([...form].filter(([, value]) => typeof value === 'string')).toEqual([
    ['language', 'de'],
    ['temperature', '0.5'],
    ['timestamp_granularities[]', 'segment'],
    ['timestamp_granularities[]', 'word'],
    ['include[]', 'logprobs'],
    ['response_format', 'verbose_json'],
    ['model', 'whisper-1'],
  ]);
  const sent = form.get('file') as File;
  expect([sent.name, new Uint8Array(await sent.arrayBuffer())]).toEqual(['a.wav', bytes]);
  await ask(models(), { task: 'translate' });
  expect(upstream.asked[1]?.path).toBe('/v1/audio/translations');
  expect(upstream.asked[1]?.form.get('response_format')).toBe('json');
});

test('a server that counts more tokens than the file can hold is not believed', async () => {
  upstream.answer = json({ text: 'Hi.', usage: { input_tokens: 1_000_000, output_tokens: 1 } });
  const { last } = await ask(models());
  expect(last).toMatchObject({ usage: { promptTokens: 1 } });
});

test('a stream is passed on as its events come', async () => {
  upstream.answer = events(
    { type: 'transcript.text.delta', delta: 'Hello' },
    { type: 'something.else' },
    { type: 'transcript.text.delta', delta: ' there.' },
    { type: 'transcript.text.done', text: 'Hello there.' },
  );
  const { deltas, text, last } = await ask(models(), { stream: true });
  expect([deltas, text]).toEqual([['Hello', ' there.'], 'Hello there.']);
  // Not told: estimated, so that a key's limit holds.
  expect(last).toMatchObject({ usage: { completionTokens: 3 } });
});

test('a server that does not stream gives the whole text', async () => {
  upstream.answer = json({ text: 'Hello.' });
  expect(await ask(models(), { stream: true })).toMatchObject({ deltas: [], text: 'Hello.' });
});

test.each<[string, Answer, Partial<TranscriptionJob>]>([
  ['fails', json({}, 503), {}],
  ['breaks off', (response) => response.destroy(), {}],
  ['sends no transcript', json({ words: 'Hello.' }), {}],
  ['sends no JSON', (response) => response.end('<html>'), {}],
  ['sends no times', json({ text: 'Hello.' }), { times: ['segment'] }],
  ['sends no words', json({ text: 'Hello.', segments: [] }), { times: ['segment', 'word'] }],
  ['ends its stream before any text', events({ type: 'something.else' }), { stream: true }],
])('where the server %s, the device answers, and the next file too', async (_, fault, more) => {
  upstream.answer = fault;
  const engine = models();
  expect((await ask(engine, more)).text).toBe('by the device');
  expect((await ask(engine, more)).text).toBe('by the device');
  // The second request had not to ask the server.
  expect(upstream.asked).toHaveLength(1);
  expect(onDevice.map(({ variants }) => variants)).toEqual([['ours'], ['ours']]);
});

test.each([
  ['nothing', 0],
  ['more than the text has', 1_000_000],
])('a usage that tells %s is estimated', async (_, output) => {
  const text = 'word '.repeat(5000);
  upstream.answer = json({
    text: output === 0 ? text : 'hi',
    usage: { input_tokens: 1, output_tokens: output },
  });
  const { last } = await ask(models());
  expect(last).toMatchObject({ usage: { completionTokens: output === 0 ? 6250 : 1 } });
});

test('deltas without text do not stop the deadline, and the device can answer', async () => {
  const empty = Array.from({ length: 50 }, () => ({ type: 'transcript.text.delta', delta: '' }));
  upstream.answer = events(...empty);
  expect((await ask(models(), { stream: true })).text).toBe('by the device');
});

test('a 400 of the server is passed on', async () => {
  upstream.answer = json({ error: { message: 'language is not known', param: 'language' } }, 400);
  await expect(ask(models())).rejects.toMatchObject({
    wire: { status: 400, param: 'language', message: 'language is not known' },
  });
});

test('a stream that breaks off after its first text is an error', async () => {
  upstream.answer = events({ type: 'transcript.text.delta', delta: 'Hello' });
  await expect(ask(models(), { stream: true })).rejects.toMatchObject({ wire: { code: 'upstream_failed' } });
  expect(onDevice).toEqual([]);
});

test('no server gets a file that must stay on the device, or that the device is asked for first', async () => {
  upstream.answer = json({ text: 'Hello.' });
  expect((await ask(models(), { deviceOnly: true })).text).toBe('by the device');
  expect((await ask(models('device-first'))).text).toBe('by the device');
  expect(upstream.asked).toEqual([]);
});
