import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { SENTENCES, speechModel, wordErrorRate } from '../support/speech/speech-model.ts';

/** Speech to text by the unmodified OpenAI client, on the real weights of Whisper tiny.en. */

const siteUrl = inject('siteUrl');
let model: Awaited<ReturnType<typeof speechModel>>;
let context: BrowserContext;
let page: Page;
let key: string;

const open = () => {
  const options = encodeURIComponent(JSON.stringify({ catalog: model.catalog }));
  return openPage(context, siteUrl, `/test-page.html?options=${options}`);
};

beforeAll(async () => {
  model = await speechModel();
  context = await launch();
  ({ page, key } = await open());
});

afterAll(async () => {
  await context.close();
  model.close();
});

const fetchClip = (name: string) =>
  page.evaluate(
    async ([url, file]) => {
      const blob = await (await fetch(`${url}/clips/${file}`)).blob();
      Object.assign(window, { clip: new File([blob], file) });
    },
    [model.url, name] as const,
  );

test('a wav file', async () => {
  await fetchClip('sentence.wav');
  const seen = await page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    const file = (window as unknown as { clip: File }).clip;
    const { data, response } = await client.audio.transcriptions
      .create({ file, model: 'coral-wren-4' })
      .withResponse();
    const srt = await client.audio.transcriptions.create({
      file,
      model: 'coral-wren-4',
      response_format: 'srt',
    });
    return { data, srt, by: response.headers.get('localtext-served-by') };
  }, key);
  expect(seen.data).toEqual({
    text: 'The boat left the harbor before sunrise.',
    usage: { type: 'duration', seconds: 3 },
  });
  expect(seen.srt).toMatch(
    /^1\n00:00:00,000 --> 00:00:02,\d{3}\nThe boat left the harbor before sunrise\.\n\n$/,
  );
  expect(seen.by).toMatch(/^whisper-tiny\.en-q8-transformers-wasm-\dt$/);
});

test('54 s of Opus: words, times and speed', async () => {
  await fetchClip('sentences.ogg');
  const seen = await page.evaluate(async (apiKey) => {
    const began = performance.now();
    const answer = await window.client(apiKey).audio.transcriptions.create({
      file: (window as unknown as { clip: File }).clip,
      model: 'coral-wren-4',
      response_format: 'verbose_json',
      timestamp_granularities: ['segment'],
    });
    return { answer, ms: performance.now() - began };
  }, key);
  const { text, language, duration, segments = [] } = seen.answer;
  console.log(`54 s in ${Math.round(seen.ms)} ms; word error rate ${wordErrorRate(SENTENCES, text)}`);
  // faster-whisper, greedy in float32 on the same weights: 0.025.
  expect(wordErrorRate(SENTENCES, text)).toBeLessThan(0.045);
  expect(language).toBe('english');
  expect(Number(duration)).toBeCloseTo(54.4, 0);
  expect(segments.length).toBeGreaterThanOrEqual(14);
  const starts = segments.map(({ start }) => start);
  expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  // By faster-whisper, the eighth sentence begins at 26.5 s and the last at 50.6 s.
  const startOf = (word: string) => segments.find((segment) => segment.text.includes(word))?.start ?? 0;
  expect(Math.abs(startOf('He opened') - 26.5)).toBeLessThan(0.5);
  expect(Math.abs(startOf('Children') - 50.6)).toBeLessThan(0.5);
});

test('a stream comes as windows are done, and an abort frees the engine', async () => {
  await fetchClip('sentences.ogg');
  const seen = await page.evaluate(async (apiKey) => {
    const client = window.client(apiKey);
    const file = (window as unknown as { clip: File }).clip;
    const request = { file, model: 'coral-wren-4', stream: true } as const;
    const types: string[] = [];
    let deltas = '';
    let whole = '';
    for await (const event of await client.audio.transcriptions.create(request)) {
      types.push(event.type);
      if (event.type === 'transcript.text.delta') deltas += event.delta;
      if (event.type === 'transcript.text.done') whole = event.text;
    }
    const abort = new AbortController();
    const stream = await client.audio.transcriptions.create(request, { signal: abort.signal });
    setTimeout(() => abort.abort(), 300);
    try {
      for await (const event of stream) types.push(`aborted ${event.type}`);
    } catch {
      // The client ends such a stream with an error or without one.
    }
    const began = performance.now();
    for (;;) {
      const { models } = await (await window.localtext).status();
      if (models.every(({ running, queued }) => running + queued === 0)) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return { types, deltas, whole, freedMs: performance.now() - began };
  }, key);
  expect(seen.types).toEqual(['transcript.text.delta', 'transcript.text.delta', 'transcript.text.done']);
  expect(seen.deltas).toBe(seen.whole);
  expect(wordErrorRate(SENTENCES, seen.whole)).toBeLessThan(0.045);
  expect(seen.freedMs).toBeLessThan(10_000);
});

test.for([
  ['no file at all', 'not sound', {}, 'file', /`file` is damaged, or no sound/],
  ['an empty file', '', {}, 'file', /`file` is empty/],
  [
    'words with times',
    'x',
    { response_format: 'verbose_json', timestamp_granularities: ['word'] },
    'timestamp_granularities[]',
    /gives the times of segments/,
  ],
  ['a language that the model lacks', 'x', { language: 'de' }, 'language', /`language` de is not known/],
] as const)('400 for %s', async ([, content, fields, param, message]) => {
  const error = await page.evaluate(
    async ([apiKey, text, extra]) => {
      const file = new File([text], 'a.mp3');
      const request = { file, model: 'coral-wren-4', ...extra } as { file: File; model: string };
      const failure = await window
        .client(apiKey)
        .audio.transcriptions.create(request)
        .catch((thrown: unknown) => thrown);
      const { status, param: named, message: said } = failure as Record<string, unknown>;
      return { status, named, said: String(said) };
    },
    [key, content, fields] as const,
  );
  expect(error).toEqual({ status: 400, named: param, said: expect.stringMatching(message) as string });
});

test('translation is refused by a model that knows English alone', async () => {
  await fetchClip('sentence.wav');
  const status = await page.evaluate(async (apiKey) => {
    const file = (window as unknown as { clip: File }).clip;
    const failure = await window
      .client(apiKey)
      .audio.translations.create({ file, model: 'coral-wren-4' })
      .catch((thrown: unknown) => thrown);
    return (failure as { status: number; param: string }).param;
  }, key);
  expect(status).toBe('model');
});

test('offline, in a new tab', async () => {
  await page.close();
  model.close();
  ({ page, key } = await open());
  await context.setOffline(true);
  const { text } = await page.evaluate(async (apiKey) => {
    const samples = new DataView(new ArrayBuffer(44 + 32_000));
    const ascii = (at: number, value: string) =>
      [...value].forEach((letter, index) => samples.setUint8(at + index, letter.charCodeAt(0)));
    ascii(0, 'RIFF');
    samples.setUint32(4, 36 + 32_000, true);
    ascii(8, 'WAVEfmt ');
    for (const [at, value] of [
      [16, 16],
      [24, 16_000],
      [28, 32_000],
      [40, 32_000],
    ] as const)
      samples.setUint32(at, value, true);
    for (const [at, value] of [
      [20, 1],
      [22, 1],
      [32, 2],
      [34, 16],
    ] as const)
      samples.setUint16(at, value, true);
    ascii(36, 'data');
    const file = new File([samples], 'silence.wav');
    return window.client(apiKey).audio.transcriptions.create({ file, model: 'coral-wren-4' });
  }, key);
  expect(text).toBe('');
});
