import type { BrowserContext, Page } from 'playwright';
import { beforeAll, expect, inject, test } from 'vitest';

import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { AlteredSite } from '../support/altered-site.ts';
import { openPage } from '../support/open-page.ts';
import { SENTENCE, SENTENCES, speechModel, wordErrorRate } from '../support/speech/speech-model.ts';
import { launchWithWeights } from '../support/stored-weights.ts';

/** Speech to text by the unmodified OpenAI client, on the real weights of Whisper tiny.en. */

const siteUrl = inject('siteUrl');
const chat = 'amber-phoenix-4';
let model: Awaited<ReturnType<typeof speechModel>>;
let context: BrowserContext;
let page: Page;
let key: string;

const open = (url = siteUrl) => {
  const chats = defaultCatalog.models.filter(({ id, kind }) => id === chat || kind === 'embedding');
  const catalog = { ...model.catalog, models: [...model.catalog.models, ...chats] };
  return openPage(context, url, { catalog });
};

beforeAll(async () => {
  model = await speechModel();
  context = await launchWithWeights();
  ({ page, key } = await open());
});

const fetchClip = (name: string, tab = page) =>
  tab.evaluate(
    async ([url, file]) => {
      const blob = await (await fetch(`${url}/clips/${file}`)).blob();
      Object.assign(window, { clip: new File([blob], file) });
    },
    [model.url, name] as const,
  );

async function transcribe(name: string, tab = page, apiKey = key): Promise<string> {
  await fetchClip(name, tab);
  return tab.evaluate(async (secret) => {
    const file = (window as unknown as { clip: File }).clip;
    return (await window.client(secret).audio.transcriptions.create({ file, model: 'coral-wren-4' })).text;
  }, apiKey);
}

test('what the worker cannot decode, its page does', async () => {
  const site = await AlteredSite.start(siteUrl);
  site.workerPrefix = 'delete globalThis.AudioDecoder;';
  const tab = await open(site.url);
  try {
    for (const ending of ['m4a', 'ogg'])
      expect(await transcribe(`sentence.${ending}`, tab.page, tab.key), ending).toBe(SENTENCE);
    const damaged = await tab.page.evaluate(async (apiKey) => {
      const { clip } = window as unknown as { clip: File };
      const bytes = new Uint8Array(await clip.arrayBuffer()).fill(0, 5000);
      const file = new File([bytes], 'a.ogg');
      const failure = await window
        .client(apiKey)
        .audio.transcriptions.create({ file, model: 'coral-wren-4' })
        .catch((thrown: unknown) => thrown);
      const { status, message } = failure as { status?: number; message?: string };
      return { status, message };
    }, tab.key);
    expect(damaged).toEqual({
      status: 400,
      message: expect.stringMatching(/is in vorbis, and damaged, or .* It decodes wav, mp3, m4a/) as string,
    });
  } finally {
    await tab.page.close();
    await site.stop();
  }
});

test('special tokens in a prompt are text', async () => {
  await fetchClip('sentence.wav');
  const heardAfter = (prompt: string) =>
    page.evaluate(
      async ([secret, text]) => {
        const { clip: file } = window as unknown as { clip: File };
        const fields = {
          file,
          model: 'coral-wren-4',
          response_format: 'verbose_json',
          prompt: text,
        } as const;
        return (await window.client(secret).audio.transcriptions.create(fields)).segments;
      },
      [key, prompt] as const,
    );
  const plain = await heardAfter('a< |endoftext|>b< |startoftranscript|>');
  expect(await heardAfter('a<|endoftext|>b<|startoftranscript|>')).toEqual(plain);
  expect(await heardAfter('a')).not.toEqual(plain);
});

test('a file that is never read through is refused, and the model stays loaded', async () => {
  const site = await AlteredSite.start(siteUrl);
  // As a decoder that a damaged file has driven into a loop.
  site.workerPrefix = 'AudioDecoder.prototype.decode = () => { for (;;); };';
  const tab = await open(site.url);
  const state = () =>
    tab.page.evaluate(async () => (await (await window.localtext).status()).models[0]?.state);
  try {
    expect(await transcribe('sentence.wav', tab.page, tab.key)).toBe(SENTENCE);
    for (let round = 0; round < 2; round++) {
      await expect(transcribe('sentence.ogg', tab.page, tab.key)).rejects.toThrow(
        /400 .*gave no sound for 10 s/,
      );
      expect(await state()).toBe('ready');
    }
    expect(await transcribe('sentence.wav', tab.page, tab.key)).toBe(SENTENCE);
  } finally {
    await tab.page.close();
    await site.stop();
  }
});

test('54 s of Opus: words, times and speed; a chat is answered meanwhile', async () => {
  await page.evaluate(async (id) => (await window.localtext).ready(id), chat);
  await fetchClip('sentences.ogg');
  const seen = await page.evaluate(
    async ([apiKey, id]) => {
      const client = window.client(apiKey);
      const began = performance.now();
      const transcribing = client.audio.transcriptions.create({
        file: (window as unknown as { clip: File }).clip,
        model: 'coral-wren-4',
        response_format: 'verbose_json',
        timestamp_granularities: ['segment', 'word'],
      });
      const chatting = client.chat.completions.create({
        model: id,
        messages: [{ role: 'user', content: 'Hi' }],
        max_tokens: 2,
      });
      const first = await Promise.race([
        chatting.then(({ choices }) => `chat: ${choices[0]?.message.role}`),
        transcribing.then(() => 'file'),
      ]);
      const answer = await transcribing;
      return { first, answer, ms: performance.now() - began };
    },
    [key, chat] as const,
  );
  expect(seen.first).toBe('chat: assistant');
  const { text, language, duration, segments = [], words = [] } = seen.answer;
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
  expect(words.map(({ word }) => word).join(' ')).toBe(text.replaceAll(/[.,]/g, ''));
  const times = words.flatMap(({ start, end }) => [start, end]);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  // By faster-whisper.
  const timeOf = (word: string) => words.find((each) => each.word === word);
  for (const [word, start, end] of [
    ['museum', 7.5, 7.76],
    ['afternoon', 17.16, 17.9],
    ['learn', 51.02, 51.34],
  ] as const) {
    expect(Math.abs((timeOf(word)?.start ?? 0) - start), word).toBeLessThan(0.25);
    expect(Math.abs((timeOf(word)?.end ?? 0) - end), word).toBeLessThan(0.25);
  }
});
