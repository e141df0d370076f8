import type { TranscriptionSegment } from '#jobs';
import { SAMPLE_RATE } from '../sound/resampler.ts';
import { cutWindow } from './cut-window.ts';
import {
  type DecodedWindow,
  type DecodeOptions,
  MAX_PREVIOUS_TOKENS,
  type WhisperModel,
} from './internals/whisper-model.ts';
import { timeWords } from './word-times.ts';

export interface WindowOptions extends Pick<DecodeOptions, 'task' | 'temperature' | 'words'> {
  /** Seconds of sound before the window. */
  position: number;
  /** Language code; null to detect the language. */
  language: string | null;
  /** Tokens of the text before the window; null for the first window. */
  previous: readonly number[] | null;
  /** Text that sets the style and the spelling of names in the first windows. */
  prompt: string;
}

export interface TranscribedWindow {
  segments: Omit<TranscriptionSegment, 'id'>[];
  /** Start of the next window, in seconds from this window's start. */
  nextStart: number;
  language: string;
  previous: number[];
}

export type Listener = Pick<
  WhisperModel,
  'features' | 'decode' | 'language' | 'textOf' | 'tokenize' | 'firstTimestamp' | 'isMultilingual'
>;
type Features = Awaited<ReturnType<Listener['features']>>;

const RETRY_TEMPERATURES = [0.2, 0.4, 0.6, 0.8, 1];
/** Maximum compression ratio. A text with a higher ratio repeats itself. */
const MAX_COMPRESSION_RATIO = 2.4;
const MIN_LOGPROB = -1;
const NO_SPEECH = 0.6;
/** Maximum temperature of text that the next window gets as context. Text sampled at a higher one is a guess. */
const MAX_REMEMBERED_TEMPERATURE = 0.5;

/**
 * Transcribes at most 30 s of sound.
 * @returns null if the model computes what is not a number
 * @throws the signal's reason
 */
export async function transcribeWindow(
  model: Listener,
  samples: Float32Array,
  { position, language: requestedLanguage, previous: context, prompt, ...decoding }: WindowOptions,
  signal: AbortSignal,
): Promise<TranscribedWindow | null> {
  const seconds = samples.length / SAMPLE_RATE;
  const features = await model.features(samples);
  signal.throwIfAborted();
  const language =
    requestedLanguage ?? (model.isMultilingual ? await model.language(features, signal) : 'en');
  const previous = context ?? (prompt.trim() === '' ? [] : model.tokenize(` ${prompt.trim()}`));
  const best = await decodeWell(model, features, { ...decoding, previous, language, seconds, signal });
  if (!best) return null;
  if (isSilent(best)) return { segments: [], nextStart: seconds, language, previous: [...previous] };
  const { temperature, averageLogprob, noSpeechProbability, compressionRatio } = best;
  const quality = { temperature, averageLogprob, noSpeechProbability, compressionRatio };
  const { segments: parts, nextStart } = cutWindow(best.tokens, model.firstTimestamp, seconds);
  const segments = parts.flatMap(({ start, end, first, tokens }): TranscribedWindow['segments'] => {
    const text = model.textOf(tokens);
    if (text.trim() === '' || end <= start) return [];
    const times = { seek: Math.round(position * 100), start: position + start, end: position + end };
    const segment = { ...times, text, tokens, ...quality };
    if (!decoding.words) return [segment];
    const starts = best.starts.slice(first, first + tokens.length + 1).map((at) => position + at);
    return [{ ...segment, words: timeWords(tokens, starts, model.textOf.bind(model), language) }];
  });
  const spoken = segments.flatMap(({ tokens }) => tokens);
  const isGuess = temperature > MAX_REMEMBERED_TEMPERATURE;
  const seen = isGuess ? [] : [...previous, ...spoken].slice(-MAX_PREVIOUS_TOKENS);
  return { segments, nextStart, language, previous: seen };
}

interface Attempt extends DecodedWindow {
  temperature: number;
  compressionRatio: number;
}

const isSilent = ({ noSpeechProbability, averageLogprob }: DecodedWindow): boolean =>
  noSpeechProbability > NO_SPEECH && averageLogprob < MIN_LOGPROB;

/** Decodes greedily, then with rising temperatures while the text repeats itself or is improbable. */
async function decodeWell(
  model: Listener,
  features: Features,
  options: DecodeOptions,
  hotter: readonly number[] = options.temperature === 0 ? RETRY_TEMPERATURES : [],
): Promise<Attempt | null> {
  const decoded = await model.decode(features, options);
  if (Number.isNaN(decoded.averageLogprob)) return null;
  const compressionRatio = await compression(model.textOf(decoded.tokens));
  const isPoor =
    compressionRatio > MAX_COMPRESSION_RATIO || (decoded.averageLogprob < MIN_LOGPROB && !isSilent(decoded));
  const [temperature, ...others] = hotter;
  if (isPoor && temperature !== undefined)
    return decodeWell(model, features, { ...options, temperature }, others);
  return { ...decoded, temperature: options.temperature, compressionRatio };
}

async function compression(text: string): Promise<number> {
  const bytes = new Blob([text]);
  if (bytes.size === 0) return 0;
  const packed = new Response(bytes.stream().pipeThrough(new CompressionStream('deflate')));
  return bytes.size / (await packed.arrayBuffer()).byteLength;
}
