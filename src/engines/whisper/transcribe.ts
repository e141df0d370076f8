import type {
  TranscriptionJob,
  TranscriptionProgress,
  TranscriptionSegment,
} from '../../jobs/transcription.ts';
import { cutWindow } from './cut-window.ts';
import { SAMPLE_RATE } from './resampler.ts';
import type { SampleWindow } from './sample-window.ts';
import {
  type DecodedWindow,
  type DecodeOptions,
  MAX_PREVIOUS_TOKENS,
  type WhisperModel,
} from './whisper-model.ts';
import { timeWords } from './word-times.ts';

export interface TranscribeOptions {
  /** Language; null: that of the first window. */
  language: string | null;
  task: TranscriptionJob['task'];
  /** Text in whose style, and with whose names, the first windows are written. */
  prompt: string;
  /** 0: greedy, and hotter where that fails. */
  temperature: number;
  signal: AbortSignal;
  /** Last progress that another engine yielded. */
  progress: TranscriptionProgress | null;
  /** Whether to time each word. */
  words: boolean;
}

export type Listener = Pick<
  WhisperModel,
  'features' | 'decode' | 'language' | 'textOf' | 'tokenize' | 'firstTimestamp' | 'isMultilingual'
>;
type Features = Awaited<ReturnType<Listener['features']>>;

/** -60 dB: in silence the model makes words up. */
const AUDIBLE = 0.001;
const RETRY_TEMPERATURES = [0.2, 0.4, 0.6, 0.8, 1];
/** A text that compresses better than this repeats itself. */
const MAX_COMPRESSION_RATIO = 2.4;
const MIN_LOGPROB = -1;
const NO_SPEECH = 0.6;
/** Text that was guessed must not lead the next window astray. */
const MAX_REMEMBERED_TEMPERATURE = 0.5;

/**
 * Transcribes sound of any length in windows of 30 s. Yields after each window. Source of the method and its limits: OpenAI's
 * whisper, `transcribe`.
 */
export async function* transcribe(
  model: Listener,
  window: SampleWindow,
  { language: asked, task, prompt, temperature, signal, progress, words }: TranscribeOptions,
): AsyncGenerator<TranscriptionProgress, void, undefined> {
  const initial = prompt.trim() === '' ? [] : model.tokenize(` ${prompt.trim()}`);
  let language = progress?.language ?? asked;
  let previous = progress?.previous ?? initial;
  let segments = progress?.segments ?? [];
  await window.skip(Math.round((progress?.position ?? 0) * SAMPLE_RATE), signal);
  for (;;) {
    const samples = await window.fill(signal);
    if (samples.length === 0) return;
    if (!samples.some((sample) => Math.abs(sample) > AUDIBLE)) {
      await window.skip(samples.length, signal);
      continue;
    }
    const position = window.position / SAMPLE_RATE;
    const seconds = samples.length / SAMPLE_RATE;
    const features = await model.features(samples);
    signal.throwIfAborted();
    language ??= model.isMultilingual ? await model.language(features, signal) : 'en';
    const options = { previous, language, task, temperature, seconds, words, signal };
    const best = await decodeWell(model, features, options);
    let nextStart = seconds;
    if (!isSilent(best)) {
      const cut = cutWindow(best.tokens, model.firstTimestamp, seconds);
      ({ nextStart } = cut);
      const found = cut.segments.flatMap(
        ({ start, end, first, tokens }): Omit<TranscriptionSegment, 'id'>[] => {
          const text = model.textOf(tokens);
          if (text.trim() === '' || end <= start) return [];
          const { averageLogprob, noSpeechProbability, compressionRatio } = best;
          const times = { seek: Math.round(position * 100), start: position + start, end: position + end };
          const quality = { averageLogprob, noSpeechProbability, compressionRatio };
          const segment = { ...times, text, tokens, temperature: best.temperature, ...quality };
          if (!words) return [segment];
          const starts = best.starts.slice(first, first + tokens.length + 1).map((at) => position + at);
          return [
            { ...segment, words: timeWords(tokens, starts, model.textOf.bind(model), options.language) },
          ];
        },
      );
      segments = [...segments, ...found.map((segment, at) => ({ id: segments.length + at, ...segment }))];
      const spoken = found.flatMap(({ tokens }) => tokens);
      previous =
        best.temperature > MAX_REMEMBERED_TEMPERATURE
          ? []
          : [...previous, ...spoken].slice(-MAX_PREVIOUS_TOKENS);
    }
    await window.skip(Math.max(1, Math.round(nextStart * SAMPLE_RATE)), signal);
    yield { segments, position: window.position / SAMPLE_RATE, language, previous };
  }
}

interface Attempt extends DecodedWindow {
  temperature: number;
  compressionRatio: number;
}

const isSilent = ({ noSpeechProbability, averageLogprob }: DecodedWindow): boolean =>
  noSpeechProbability > NO_SPEECH && averageLogprob < MIN_LOGPROB;

/** Greedy first; where the text repeats itself or is improbable, with more and more chance. */
async function decodeWell(model: Listener, features: Features, options: DecodeOptions): Promise<Attempt> {
  const temperatures = options.temperature === 0 ? [0, ...RETRY_TEMPERATURES] : [options.temperature];
  let attempt: Attempt | null = null;
  for (const temperature of temperatures) {
    const decoded = await model.decode(features, { ...options, temperature });
    const compressionRatio = await compression(model.textOf(decoded.tokens));
    attempt = { ...decoded, temperature, compressionRatio };
    const isPoor =
      compressionRatio > MAX_COMPRESSION_RATIO ||
      (decoded.averageLogprob < MIN_LOGPROB && !isSilent(decoded));
    if (!isPoor) break;
  }
  if (!attempt) throw new Error('no attempt was made');
  return attempt;
}

async function compression(text: string): Promise<number> {
  const bytes = new Blob([text]);
  if (bytes.size === 0) return 0;
  const packed = await new Response(
    bytes.stream().pipeThrough(new CompressionStream('deflate')),
  ).arrayBuffer();
  return bytes.size / packed.byteLength;
}
