import { readFileSync } from 'node:fs';

import type { Page } from 'playwright';
import { voices } from '../../src/catalog/media-models.ts';
import { launch } from '../../test/support/launch.ts';
import { openPage } from '../../test/support/open-page.ts';
import { findRoot, treeCpuMs } from '../../test/support/process-memory.ts';
import { speechModel, wordErrorRate } from '../../test/support/speech/speech-model.ts';
import { removeFolder, tempFolder } from '../../test/support/temp-folder.ts';
import type { Row } from './row.ts';
import { NO_GPU, type Stage } from './stage.ts';

/** Everyday words, without figures and names that can be written in several ways. */
const SENTENCES = readFileSync('tools/bench/voice-sentences.txt', 'utf8').trim().split('\n');

const MODEL = 'silver-lark-4';
const SENTENCE = 'The boat left the harbor before sunrise.';
/** Bytes a second of `pcm`. */
const RATE = 48_000;
/** Sentences that fit Whisper's window of 30 s. */
const HEARD_AT_ONCE = 5;

interface Opened {
  page: Page;
  key: string;
}

/** The voice of hibari-tts on the processor, in a browser of its own. */
export async function voice({ site, rounds }: Stage): Promise<Row[]> {
  if (process.platform !== 'linux') throw new Error('processor time is measured on Linux alone');
  const profile = await tempFolder('bench');
  const context = await launch({ profile, extraArgs: NO_GPU });
  try {
    const catalog = { ownedBy: 'localtext', models: voices.models ?? [] };
    const opened = await openPage(context, site.url, { catalog });
    await firstSound(opened, SENTENCE);
    const first: number[] = [];
    const speed: number[] = [];
    const cpu: number[] = [];
    const root = await findRoot(`--user-data-dir=${profile}`);
    for (let round = 0; round < rounds; round++) {
      first.push((await firstSound(opened, SENTENCE)).firstMs);
      const cpuBefore = await treeCpuMs(root);
      const { seconds, allMs } = await firstSound(opened, SENTENCES.slice(0, 8).join(' '));
      speed.push((seconds * 1000) / allMs);
      cpu.push((seconds * 1000) / ((await treeCpuMs(root)) - cpuBefore));
    }
    return [
      {
        name: 'text to speech: seconds of sound in a second',
        unit: 'ratio',
        values: speed,
        goal: { atLeast: 5 },
        detail: { 'seconds of sound in a second of processor time': cpu },
      },
      { name: 'text to speech: first sound of a sentence', unit: 'ms', values: first, goal: { atMost: 500 } },
    ];
  } finally {
    await context.close();
    await removeFolder(profile);
  }
}

/** Times of a streamed speech, and the length of its sound. */
const firstSound = (
  { page, key }: Opened,
  input: string,
): Promise<{ firstMs: number; allMs: number; seconds: number }> =>
  page.evaluate(
    async ([apiKey, model, text, rate]) => {
      const began = performance.now();
      const { body } = await window
        .client(apiKey)
        .audio.speech.create({ model, voice: 'heart', input: text, response_format: 'pcm' });
      let firstMs = 0;
      let bytes = 0;
      for (const reader = body?.getReader(); ;) {
        const { value, done = true } = (await reader?.read()) ?? {};
        if (done || !value) break;
        firstMs ||= performance.now() - began;
        bytes += value.length;
      }
      return { firstMs, allMs: performance.now() - began, seconds: bytes / rate };
    },
    [key, MODEL, input, RATE] as const,
  );

const DIGITS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
/** Numbers in words, as Whisper writes some of them in figures. */
const inWords = (text: string): string =>
  text.replaceAll(/\b\d+\b/g, (digits) => DIGITS[Number(digits) - 1] ?? digits);

/** Share of the sentences' words that Whisper tiny.en hears. */
export async function voiceHeard({ site, context }: Stage): Promise<Row> {
  const whisper = await speechModel();
  const catalog = { ...whisper.catalog, models: [...whisper.catalog.models, ...(voices.models ?? [])] };
  const opened = await openPage(context, site.url, { catalog });
  let wrong = 0;
  let all = 0;
  try {
    for (let at = 0; at < SENTENCES.length; at += HEARD_AT_ONCE) {
      const spoken = SENTENCES.slice(at, at + HEARD_AT_ONCE).join(' ');
      const count = spoken.split(' ').length;
      const heard = inWords(await hear(opened, spoken));
      const mistakes = Math.round(wordErrorRate(spoken, heard) * count);
      if (mistakes > 0) console.log(`${mistakes} of ${count} words differ: ${heard}`);
      wrong += mistakes;
      all += count;
    }
    return {
      name: 'text to speech: share of the words of 100 sentences that Whisper hears',
      unit: 'ratio',
      values: [1 - wrong / all],
      goal: { atLeast: 0.95 },
    };
  } finally {
    await opened.page.close();
    whisper.close();
  }
}

const hear = ({ page, key }: Opened, text: string): Promise<string> =>
  page.evaluate(
    async ([apiKey, model, input]) => {
      const client = window.client(apiKey);
      const spoken = await client.audio.speech.create({
        model,
        voice: 'heart',
        input,
        response_format: 'wav',
      });
      const file = new File([await spoken.blob()], 'a.wav');
      return (await client.audio.transcriptions.create({ file, model: 'coral-wren-4' })).text.trim();
    },
    [key, MODEL, text] as const,
  );
