import type { BrowserContext, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

import { voices } from '../../src/catalog/media-models.ts';
import { pullWeights } from '../../src/node/cli/pull-command.ts';
import { launch } from '../support/launch.ts';
import { openPage } from '../support/open-page.ts';
import { speechModel, wordErrorRate } from '../support/speech/speech-model.ts';

/** Kokoro by the unmodified OpenAI client, on its real weights, heard by Whisper. */

const variant = 'kokoro-82m-int8';
const TEXT = 'The boat left the harbor before sunrise, and nobody saw it leave.';
let whisper: Awaited<ReturnType<typeof speechModel>>;
let context: BrowserContext;
let page: Page;
let key: string;

beforeAll(async () => {
  await pullWeights([variant], 'public/models', new AbortController().signal);
  whisper = await speechModel();
  context = await launch();
  const catalog = { ...whisper.catalog, models: [...whisper.catalog.models, ...(voices.models ?? [])] };
  ({ page, key } = await openPage(context, inject('siteUrl'), { catalog, prefer: [variant] }));
}, 300_000);

afterAll(async () => {
  whisper?.close();
});

const speak = (voice: string) =>
  page.evaluate(
    async ([apiKey, input, name]) => {
      const client = window.client(apiKey);
      const began = performance.now();
      const fields = { model: 'silver-lark-4', input, response_format: 'wav' as const };
      const { data: response, error } = await client.audio.speech.create({ ...fields, voice: name }).then(
        (data) => ({ data, error: '' }),
        (failure: Error) => ({ data: null, error: failure.message }),
      );
      if (!response) return { error };
      const bytes = await response.arrayBuffer();
      const ms = performance.now() - began;
      const file = new File([bytes], 'a.wav', { type: 'audio/wav' });
      const { text } = await client.audio.transcriptions.create({ file, model: 'coral-wren-4' });
      const by = response.headers.get('localtext-served-by');
      return { text, by, ms, bytes: bytes.byteLength };
    },
    [key, TEXT, voice] as const,
  );

test('its voices say what is written, each in its own way', async () => {
  const lengths = new Set<number | undefined>();
  for (const voice of ['heart', 'onyx', 'alloy']) {
    const seen = await speak(voice);
    expect(seen.by).toMatch(/^kokoro-82m-int8-/);
    expect(wordErrorRate(TEXT, seen.text ?? ''), `${voice}: ${seen.text}`).toBeLessThanOrEqual(0.08);
    lengths.add(seen.bytes);
  }
  expect(lengths.size).toBe(3);
}, 300_000);

test('a voice that it lacks is a 400 that lists those it has', async () => {
  expect((await speak('coral')).error).toMatch(
    /400 `voice` must be a voice of this model: heart, bella, nicole, alloy, nova, echo, onyx, michael, fenrir, puck/,
  );
}, 60_000);
