import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { voices } from '../../src/catalog/media-models.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { speechModel, wordErrorRate } from '../support/speech/speech-model.ts';

/** Text to speech by the unmodified OpenAI client, on the real weights of a voice, heard by Whisper. */

const model = 'silver-lark-4';
const TEXT =
  'Dr. Smith paid $3.50 for two books on March 3rd. The train leaves at 7:30 in the morning, and it takes an hour.';
const HEARD =
  'Dr. Smith paid three dollars and fifty cents for two books on March third. The train leaves at seven thirty in the morning, and it takes an hour.';
let whisper: Awaited<ReturnType<typeof speechModel>>;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  whisper = await speechModel();
  context = await launch();
  const catalog = { ...whisper.catalog, models: [...whisper.catalog.models, ...(voices.models ?? [])] };
  ({ page, key } = await openPage(context, inject('siteUrl'), { catalog }));
});

/** Words as figures, as Whisper writes some of them. */
const inWords = (text: string): string =>
  text
    .replace(/\$3\.50|\$3 and \$0\.50|three dollars and 50 cents/i, 'three dollars and fifty cents')
    .replace(/doctor/i, 'Dr')
    .replace(/\b3rd\b/, 'third')
    .replace(/7[:.]?30/, 'seven thirty')
    .replace(/\b2 books/, 'two books');

test('a text is spoken, and what it says is heard', async () => {
  const seen = await page.evaluate(
    async ([apiKey, id, input]) => {
      const client = window.client(apiKey);
      const began = performance.now();
      const response = await client.audio.speech.create({
        model: id,
        input,
        voice: 'heart',
        response_format: 'wav',
      });
      const bytes = await response.arrayBuffer();
      const ms = performance.now() - began;
      const file = new File([bytes], 'a.wav', { type: 'audio/wav' });
      const { text } = await client.audio.transcriptions.create({ file, model: 'coral-wren-4' });
      const seconds = (bytes.byteLength - 44) / 2 / 24_000;
      return {
        text,
        ms,
        seconds,
        type: response.headers.get('content-type'),
        by: response.headers.get('localtext-served-by'),
      };
    },
    [key, model, TEXT] as const,
  );
  expect(seen.type).toBe('audio/wav');
  expect(seen.by).toMatch(/^hibari-heart-int8-/);
  expect(seen.seconds).toBeGreaterThan(6);
  expect(seen.seconds).toBeLessThan(16);
  expect(wordErrorRate(HEARD, inWords(seen.text)), seen.text).toBeLessThanOrEqual(0.05);
});

test('FLAC has the samples of PCM', async () => {
  const [flac, pcm] = await page.evaluate(
    async ([apiKey, id]) => {
      const speak = async (format: 'flac' | 'pcm') => {
        const input = 'One sentence. And another one!';
        const fields = { model: id, input, voice: 'heart', response_format: format };
        return (await window.client(apiKey).audio.speech.create(fields)).arrayBuffer();
      };
      const offline = new OfflineAudioContext(1, 1, 24_000);
      const decoded = await offline.decodeAudioData(await speak('flac'));
      const samples = decoded.getChannelData(0).map((sample) => Math.round(sample * 32_768));
      return [Array.from(samples), Array.from(new Int16Array(await speak('pcm')))];
    },
    [key, model] as const,
  );
  expect(flac).toEqual(pcm);
});

test('events: each sentence as soon as it is spoken, then the usage', async () => {
  const events = await page.evaluate(
    async ([apiKey, id]) => {
      const response = await window.client(apiKey).audio.speech.create({
        model: id,
        input: 'One sentence. And another one! Is this the third?',
        voice: 'heart',
        response_format: 'pcm',
        stream_format: 'sse',
      });
      return (await response.text())
        .split('\n\n')
        .filter((event) => event.startsWith('data: '))
        .map((event) => JSON.parse(event.slice(6)) as { type: string; usage?: object });
    },
    [key, model] as const,
  );
  expect(events.map(({ type }) => type)).toEqual([
    ...Array.from({ length: 3 }, () => 'speech.audio.delta'),
    'speech.audio.done',
  ]);
  expect(events.at(-1)?.usage).toMatchObject({
    input_tokens: expect.any(Number) as number,
    output_tokens: expect.any(Number) as number,
  });
});

test.each([
  ['a voice that it lacks', { voice: 'alloy' }, /400 `voice` must be a voice of this model: heart/],
  ['another script', { input: '你好，世界' }, /400 `input` cannot be spoken: this model reads English/],
  ['nothing to speak', { input: '🙂 …' }, /400 `input` must have something to speak/],
  ['a speed that it lacks', { speed: 3 }, /400 `speed` must be from 0\.5 to 2/],
])('%s is a 400', async (_, fields, message) => {
  const failure = await page.evaluate(
    async ([apiKey, id, given]) =>
      window
        .client(apiKey)
        .audio.speech.create({ model: id, input: 'Hello.', voice: 'heart', ...given })
        .then(
          (response) => `no error: ${response.status}`,
          (error: Error) => error.message,
        ),
    [key, model, fields] as const,
  );
  expect(failure).toMatch(message);
});
