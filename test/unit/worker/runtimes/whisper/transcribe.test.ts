import { expect, test } from 'vitest';

import type { TranscriptionProgress } from '../../../../../src/jobs/transcription.ts';
import { cutWindow } from '../../../../../src/worker/runtimes/whisper/segments.ts';
import { applyTimestampRules } from '../../../../../src/worker/runtimes/whisper/timestamp-rules.ts';
import { type Listener, transcribe } from '../../../../../src/worker/runtimes/whisper/transcribe.ts';
import { virtualTime } from '../../../../support/virtual-time.ts';

virtualTime();

/** Tokens below 100 are words; 100 ends the text; from 110 on they are times. */
const special = { end: 100, start: 101, startOfPrevious: 104, noSpeech: 105, firstTimestamp: 110 };
const at = (seconds: number): number => special.firstTimestamp + Math.round(seconds / 0.02);

test('a window is cut at its pairs of times, and the next begins after the last finished segment', () => {
  const tokens = [at(0), 1, 2, at(4), at(4), 3, at(9), at(9), 4, 5];
  expect(cutWindow(tokens, special.firstTimestamp, 30)).toEqual({
    segments: [
      { start: 0, end: 4, tokens: [at(0), 1, 2, at(4)] },
      { start: 4, end: 9, tokens: [at(4), 3, at(9)] },
    ],
    nextStart: 9,
  });
});

test('a window that ends with a time is finished', () => {
  const tokens = [at(0), 1, at(4), at(4), 3, at(29)];
  const { segments, nextStart } = cutWindow(tokens, special.firstTimestamp, 30);
  expect(segments.map(({ start, end }) => [start, end])).toEqual([
    [0, 4],
    [4, 29],
  ]);
  expect(nextStart).toBe(30);
});

test('text without pairs is one segment, and no time lies past the end of the sound', () => {
  expect(cutWindow([at(0), 1, 2], special.firstTimestamp, 3)).toEqual({
    segments: [{ start: 0, end: 3, tokens: [at(0), 1, 2] }],
    nextStart: 3,
  });
  expect(cutWindow([at(0), 1, at(20)], special.firstTimestamp, 3).segments[0]?.end).toBe(3);
});

const allowed = (tokens: number[], scores = new Float32Array(1611)): number[] => {
  applyTimestampRules(scores, tokens, special);
  return [...scores].flatMap((score, token) => (score === -Infinity ? [] : [token]));
};

test('a window begins with a time of its first second', () => {
  const first = allowed([]);
  expect([first[0], first.at(-1)]).toEqual([special.firstTimestamp, special.firstTimestamp + 50]);
});

test('times come in pairs and never go back', () => {
  const likelyText = () => new Float32Array(1611).fill(9, 0, 101);
  expect(allowed([at(0)], likelyText()).every((token) => token <= special.end)).toBe(true);
  const closing = allowed([at(0), 1, at(4)], likelyText());
  expect(closing.includes(special.end)).toBe(true);
  expect(closing.filter((token) => token < special.end)).toEqual([]);
  expect(allowed([at(0), 1, at(4)])[0]).toBe(at(4));
  expect(allowed([at(0), 1])[0]).toBe(at(0.02));
});

test('a time is chosen where all times together are more probable than any word', () => {
  // 1,500 times at 0 weigh more than a word at 5.
  const scores = new Float32Array(1611);
  scores[3] = 5;
  expect(allowed([at(0), 1], scores)[0]).toBeGreaterThanOrEqual(special.firstTimestamp);
});

/** Hears loud seconds as their number, and says so with its times. */
const listener = (log: { from: number; previous: readonly number[] }[], fail = -1): Listener => ({
  special,
  isMultilingual: false,
  tokenize: (text) => [...text].map((letter) => letter.charCodeAt(0) % 100),
  textOf: (tokens) =>
    tokens
      .filter((token) => token < special.end)
      .map((token) => ` w${token}`)
      .join(''),
  hear: async (samples) => samples as never,
  language: async () => 'en',
  // Each token is a second.
  align: async (_, tokens) => [...tokens, 0].map((_token, index) => index),
  async decode(heard, { previous, temperature }) {
    const samples = heard as unknown as Float32Array;
    const words: number[] = [];
    for (let second = 0; second < Math.floor(samples.length / 16_000); second++)
      words.push(Math.round((samples[second * 16_000] ?? 0) * 100));
    log.push({ from: words[0] ?? 0, previous });
    const tokens = words.flatMap((word, second) => (word > 0 ? [at(second), word, at(second + 1)] : []));
    // The last word is cut off by the window's end.
    if (words.length === 30) tokens.splice(-3, 3, at(29), words.at(-1) ?? 0);
    const poor = words[0] === fail && temperature < 0.4;
    return { tokens, averageLogprob: poor ? -3 : -0.1, noSpeechProbability: 0 };
  },
});

/** One second for each number, in pieces that no window ends with. */
const source = (seconds: readonly number[]) => {
  const all = Float32Array.from(
    { length: seconds.length * 16_000 },
    (_, index) => (seconds[Math.floor(index / 16_000)] ?? 0) / 100,
  );
  let from = 0;
  return {
    async next() {
      if (from >= all.length) return null;
      const piece = all.slice(from, from + 7001);
      from += piece.length;
      return piece;
    },
  };
};

const options = (progress: TranscriptionProgress | null = null) => ({
  language: null,
  task: 'transcribe' as const,
  prompt: '',
  temperature: 0,
  signal: new AbortController().signal,
  progress,
  words: false,
});

const collect = async (steps: AsyncIterable<TranscriptionProgress>) => {
  const all: TranscriptionProgress[] = [];
  for await (const step of steps) all.push(step);
  return all;
};

const words = Array.from({ length: 75 }, (_, index) => index + 1);
const said = (progress: TranscriptionProgress | undefined) =>
  (progress?.segments ?? []).map(({ text, start }) => [Number(text.slice(2)), start]);

test('windows are joined without a lost or repeated word, each at its own time', async () => {
  const log: { from: number; previous: readonly number[] }[] = [];
  const steps = await collect(transcribe(listener(log), source(words), options()));
  expect(said(steps.at(-1))).toEqual(words.map((word) => [word, word - 1]));
  expect(log.map(({ from }) => from)).toEqual([1, 30, 59]);
  expect(log[1]?.previous).toContain(29);
  expect(steps.at(-1)?.segments.map(({ id }) => id)).toEqual(words.map((word) => word - 1));
});

test('another engine goes on after the last finished segment', async () => {
  const [first] = await collect(transcribe(listener([]), source(words), options()));
  const log: { from: number; previous: readonly number[] }[] = [];
  const rest = await collect(transcribe(listener(log), source(words), options(first ?? null)));
  expect(log[0]?.from).toBe(30);
  expect(said(rest.at(-1))).toEqual(words.map((word) => [word, word - 1]));
});

test('words have times of the whole file, those of the next window too', async () => {
  const steps = transcribe(listener([]), source(words), { ...options(), words: true });
  const { segments = [] } = (await collect(steps)).at(-1) ?? {};
  const timed = segments.flatMap((segment) => segment.words ?? []);
  expect(timed.map(({ word, start, end }) => [word, start, end])).toEqual(
    words.map((word) => [`w${word}`, word - 1, word]),
  );
});

test('silence is not heard, and text that is improbable is tried again with more chance', async () => {
  const quiet = await collect(transcribe(listener([]), source(words.map(() => 0)), options()));
  expect(quiet).toEqual([]);
  const retried = await collect(transcribe(listener([], 1), source([1, 2, 3]), options()));
  expect(retried[0]?.segments.map(({ temperature }) => temperature)).toEqual([0.4, 0.4, 0.4]);
});

test('an abort ends it', async () => {
  const abort = new AbortController();
  const steps = transcribe(listener([]), source(words), { ...options(), signal: abort.signal });
  await steps.next();
  abort.abort(new Error('stopped'));
  await expect(steps.next()).rejects.toThrow('stopped');
});

test.each([
  ['at the start', []],
  ['in mid-file', [1, 2, 3]],
])('a decoder that never answers ends the transcription: %s', async (_, seconds) => {
  const first = source(seconds);
  const silent = { next: async () => (await first.next()) ?? (await new Promise<null>(() => undefined)) };
  await expect(collect(transcribe(listener([]), silent, options()))).rejects.toThrow(
    'gave nothing for 30000 ms',
  );
  const abort = new AbortController();
  const stopped = collect(transcribe(listener([]), silent, { ...options(), signal: abort.signal }));
  abort.abort(new Error('stopped'));
  await expect(stopped).rejects.toThrow('stopped');
});
