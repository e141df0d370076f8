import { expect, test, vi } from 'vitest';

import type { TranscriptionJob, TranscriptionProgress } from '../../../../src/jobs/transcription.ts';
import { createDeferred } from '../../../../src/base/async.ts';
import { cutWindow } from '../../../../src/engines/whisper/cut-window.ts';
import { type Listener, transcribeWindow } from '../../../../src/engines/whisper/transcribe-window.ts';
import { whisperEngine } from '../../../../src/engines/whisper/whisper-engine.ts';

/** Tokens below 100 are words; 100 ends the text; from 110 on they are times. */
const firstTimestamp = 110;
const at = (seconds: number): number => firstTimestamp + Math.round(seconds / 0.02);

test('a window is cut at its pairs of times, and the next begins after the last finished segment', () => {
  const tokens = [at(0), 1, 2, at(4), at(4), 3, at(9), at(9), 4, 5];
  expect(cutWindow(tokens, firstTimestamp, 30)).toEqual({
    segments: [
      { start: 0, end: 4, first: 0, tokens: [at(0), 1, 2, at(4)] },
      { start: 4, end: 9, first: 4, tokens: [at(4), 3, at(9)] },
    ],
    nextStart: 9,
  });
});

test('a window that ends with a time is finished', () => {
  const tokens = [at(0), 1, at(4), at(4), 3, at(29)];
  const { segments, nextStart } = cutWindow(tokens, firstTimestamp, 30);
  expect(segments.flatMap(({ start, end }) => [start, end])).toEqual([0, 4, 4, 29]);
  expect(nextStart).toBe(30);
});

test('text without pairs is one segment, and no time lies past the end of the sound', () => {
  expect(cutWindow([at(0), 1, 2], firstTimestamp, 3)).toEqual({
    segments: [{ start: 0, end: 3, first: 0, tokens: [at(0), 1, 2] }],
    nextStart: 3,
  });
  expect(cutWindow([at(0), 1, at(20)], firstTimestamp, 3).segments[0]?.end).toBe(3);
});

/** Hears loud seconds as their number, and says so with its times. */
const listener = (log: { from: number; previous: readonly number[] }[], fail = -1): Listener => ({
  firstTimestamp,
  isMultilingual: false,
  tokenize: (text) => [...text].map((letter) => letter.charCodeAt(0) % 100),
  textOf: (tokens) =>
    tokens
      .filter((token) => token < 100)
      .map((token) => ` w${token}`)
      .join(''),
  features: async (samples) => samples as never,
  language: async () => 'en',
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
    const starts = tokens.map((token, index) => {
      const time = token < firstTimestamp ? (tokens[index - 1] ?? 0) : token;
      return (time - firstTimestamp) * 0.02;
    });
    return { tokens, starts, averageLogprob: poor ? -3 : -0.1, noSpeechProbability: 0 };
  },
});

/** One second for each number, in pieces that no window ends with. */
async function* pieces(seconds: readonly number[]) {
  const all = Float32Array.from(
    { length: seconds.length * 16_000 },
    (_, index) => (seconds[Math.floor(index / 16_000)] ?? 0) / 100,
  );
  for (let from = 0; from < all.length; from += 7001) yield all.slice(from, from + 7001);
}

type Sound = AsyncGenerator<Float32Array<ArrayBuffer>, void, undefined>;
type Calls = Parameters<typeof whisperEngine>[0];

/** Progress of a transcription whose worker runs this model. */
async function* transcribe(
  model: Listener,
  sound: Sound,
  asked: Partial<TranscriptionJob> = {},
  signal = new AbortController().signal,
): AsyncGenerator<TranscriptionProgress> {
  const worker = {
    transcribe: (...[samples, options]: [Float32Array, Parameters<typeof transcribeWindow>[2]]) =>
      transcribeWindow(model, samples, options, signal),
    stop: async () => undefined,
  };
  const calls = { call: (call: (model: unknown) => unknown) => call(worker), end: () => undefined };
  const reader = { read: () => sound, end: () => undefined };
  const abilities = { languages: [], timesWords: true };
  const engine = whisperEngine(calls as unknown as Calls, reader, abilities, 'tiny');
  const job = { task: 'transcribe', times: [], others: [], ...asked } as unknown as TranscriptionJob;
  for await (const event of engine.run(job, signal))
    if (event.type === 'delta' && event.progress) yield event.progress;
}

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
  const steps = await collect(transcribe(listener(log), pieces(words)));
  expect(said(steps.at(-1))).toEqual(words.map((word) => [word, word - 1]));
  expect(log.map(({ from }) => from)).toEqual([1, 30, 59]);
  expect(log[1]?.previous).toContain(29);
  expect(steps.at(-1)?.segments.map(({ id }) => id)).toEqual(words.map((word) => word - 1));
});

test('a model with broken numbers fails, and is tried once', async () => {
  const broken = { tokens: [], starts: [], averageLogprob: NaN, noSpeechProbability: NaN };
  const decode = vi.fn(async () => broken);
  const steps = collect(transcribe({ ...listener([]), decode }, pieces(words)));
  await expect(steps).rejects.toMatchObject({ wire: { code: 'engine_failed' } });
  expect(decode).toHaveBeenCalledOnce();
});

test('another engine continues after the last finished segment', async () => {
  const [first] = await collect(transcribe(listener([]), pieces(words)));
  const log: { from: number; previous: readonly number[] }[] = [];
  const rest = await collect(transcribe(listener(log), pieces(words), first && { progress: first }));
  expect(log[0]?.from).toBe(30);
  expect(said(rest.at(-1))).toEqual(words.map((word) => [word, word - 1]));
});

test('words have times of the whole file, those of the next window too', async () => {
  const steps = transcribe(listener([]), pieces(words), { times: ['word'] });
  const { segments = [] } = (await collect(steps)).at(-1) ?? {};
  const timed = segments.flatMap((segment) => segment.words ?? []);
  expect(timed.map(({ word, start, end }) => [word, start, end])).toEqual(
    words.map((word) => [`w${word}`, expect.closeTo(word - 1), expect.closeTo(word)]),
  );
});

test('silence is not heard, and text that is improbable is tried again with more chance', async () => {
  const quiet = await collect(transcribe(listener([]), pieces(words.map(() => 0))));
  expect(quiet).toEqual([]);
  const retried = await collect(transcribe(listener([], 1), pieces([1, 2, 3])));
  expect(retried[0]?.segments.map(({ temperature }) => temperature)).toEqual([0.4, 0.4, 0.4]);
});

test('an abort ends it', async () => {
  const abort = new AbortController();
  const steps = transcribe(listener([]), pieces(words), {}, abort.signal);
  await steps.next();
  abort.abort(new Error('stopped'));
  await expect(steps.next()).rejects.toThrow('stopped');
});

test.each([
  ['at the start', []],
  ['in mid-file', [1, 2, 3]],
])('an abort ends a transcription whose sound never comes: %s', async (_, seconds) => {
  const stuck = createDeferred();
  async function* silent() {
    yield* pieces(seconds);
    stuck.resolve();
    await new Promise(() => undefined);
  }
  const abort = new AbortController();
  const stopped = collect(transcribe(listener([]), silent(), {}, abort.signal));
  await stuck.promise;
  abort.abort(new Error('stopped'));
  await expect(stopped).rejects.toThrow('stopped');
});
