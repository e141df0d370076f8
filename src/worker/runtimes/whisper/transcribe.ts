import type { TranscriptionProgress, TranscriptionSegment } from '../../../jobs/transcription.ts';
import { abortable, withTimeout } from '../../../util/async.ts';
import { cutWindow } from './segments.ts';
import { MAX_PREVIOUS_TOKENS, SAMPLE_RATE, WINDOW_SECONDS } from './whisper-model.ts';
import type { DecodedWindow, DecodeOptions, HeardWindow, WhisperModel } from './whisper-model.ts';
import { timeWords, wordsOf } from './word-times.ts';

export interface TranscribeOptions {
  /** None: the language of the first window. */
  language: string | null;
  task: DecodeOptions['task'];
  /** Text in whose style, and with whose names, the first windows are written. */
  prompt: string;
  /** 0: greedy, and hotter where that fails. */
  temperature: number;
  signal: AbortSignal;
  /** What it yielded last, to go on from there. */
  progress: TranscriptionProgress | null;
  /** Time each word. */
  words: boolean;
}

/** Sound at 16 kHz, in order. */
export interface SampleSource {
  /** The next samples, however many; null at the end. */
  next(): Promise<Float32Array<ArrayBuffer> | null>;
}

export type Listener = Pick<
  WhisperModel,
  'hear' | 'decode' | 'align' | 'language' | 'textOf' | 'tokenize' | 'special' | 'isMultilingual'
>;

/** Decoding a piece takes milliseconds. A browser's decoder may never answer, and would block every later file. */
const DECODER_TIMEOUT_MS = 30_000;
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
 * Transcribes sound of any length, a window of 30 s after another. Yields after each window. At most one window and one piece of
 * the source are in memory. Source of the method and its limits: OpenAI's whisper, `transcribe`.
 */
export async function* transcribe(
  model: Listener,
  source: SampleSource,
  { language: asked, task, prompt, temperature, signal, progress, words }: TranscribeOptions,
): AsyncGenerator<TranscriptionProgress, void, undefined> {
  const window = new SampleWindow(source);
  const initial = prompt.trim() === '' ? [] : model.tokenize(` ${prompt.trim()}`);
  let language = progress?.language ?? asked;
  let previous = progress?.previous ?? initial;
  let segments = progress?.segments ?? [];
  await window.skip(Math.round((progress?.position ?? 0) * SAMPLE_RATE), signal);
  for (;;) {
    const samples = await window.fill(signal);
    if (samples.length === 0) return;
    const position = window.position / SAMPLE_RATE;
    const seconds = samples.length / SAMPLE_RATE;
    let nextStart = seconds;
    if (!samples.some((sample) => Math.abs(sample) > AUDIBLE)) {
      await window.skip(samples.length, signal);
      continue;
    }
    const heard = await model.hear(samples);
    signal.throwIfAborted();
    language ??= model.isMultilingual ? await model.language(heard) : 'en';
    const best = await decodeWell(model, heard, { previous, language, task, temperature, signal });
    if (!isSilent(best)) {
      const cut = cutWindow(best.tokens, model.special.firstTimestamp, seconds);
      ({ nextStart } = cut);
      const found = cut.segments.flatMap(({ start, end, tokens }): Omit<TranscriptionSegment, 'id'>[] => {
        const text = model.textOf(tokens);
        if (text.trim() === '' || end <= start) return [];
        const { averageLogprob, noSpeechProbability, compressionRatio } = best;
        const times = { seek: Math.round(position * 100), start: position + start, end: position + end };
        const quality = { averageLogprob, noSpeechProbability, compressionRatio };
        return [{ ...times, text, tokens, temperature: best.temperature, ...quality }];
      });
      if (words) await addWords(model, heard, found, { language, task, seconds, position });
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

/** Of all segments of one window, from one more run of the decoder. */
async function addWords(
  model: Listener,
  heard: HeardWindow,
  segments: Pick<TranscriptionSegment, 'tokens' | 'words'>[],
  { position, ...options }: Parameters<Listener['align']>[2] & { language: string; position: number },
): Promise<void> {
  const texts = segments.map(({ tokens }) => tokens.filter((token) => token < model.special.end));
  if (texts.length === 0) return;
  const starts = await model.align(heard, texts.flat(), options);
  let from = 0;
  for (const [at, segment] of segments.entries()) {
    const tokens = texts[at] ?? [];
    const own = starts.slice(from, from + tokens.length + 1).map((start) => position + start);
    segment.words = timeWords(wordsOf(tokens, model.textOf.bind(model), options.language), own);
    from += tokens.length;
  }
}

interface Attempt extends DecodedWindow {
  temperature: number;
  compressionRatio: number;
}

const isSilent = ({ noSpeechProbability, averageLogprob }: DecodedWindow): boolean =>
  noSpeechProbability > NO_SPEECH && averageLogprob < MIN_LOGPROB;

/** Greedy first; where the text repeats itself or is improbable, with more and more chance. */
async function decodeWell(model: Listener, heard: HeardWindow, options: DecodeOptions): Promise<Attempt> {
  const temperatures = options.temperature === 0 ? [0, ...RETRY_TEMPERATURES] : [options.temperature];
  let attempt: Attempt | null = null;
  for (const temperature of temperatures) {
    const decoded = await model.decode(heard, { ...options, temperature });
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

const WINDOW_SAMPLES = WINDOW_SECONDS * SAMPLE_RATE;

/** The next 30 s of a source, without what came before. */
class SampleWindow {
  /** Samples before the window. */
  position = 0;
  readonly #source: SampleSource;
  #samples = new Float32Array(0);
  #ended = false;

  constructor(source: SampleSource) {
    this.#source = source;
  }

  /** The window; shorter only at the end. */
  async fill(signal: AbortSignal): Promise<Float32Array> {
    const pieces = [this.#samples];
    let length = this.#samples.length;
    while (length < WINDOW_SAMPLES && !this.#ended) {
      const piece = await this.#next(signal);
      if (piece) pieces.push(piece);
      length += piece?.length ?? 0;
    }
    if (pieces.length > 1) this.#samples = joined(pieces, length);
    return this.#samples.subarray(0, WINDOW_SAMPLES);
  }

  async skip(samples: number, signal: AbortSignal): Promise<void> {
    let left = samples;
    for (;;) {
      const taken = Math.min(left, this.#samples.length);
      this.#samples = this.#samples.slice(taken);
      this.position += taken;
      left -= taken;
      if (left === 0 || this.#ended) return;
      const piece = await this.#next(signal);
      if (piece) this.#samples = piece;
    }
  }

  async #next(signal: AbortSignal): Promise<Float32Array<ArrayBuffer> | null> {
    const piece = this.#source.next().then((samples) => ({ samples }));
    const answer = await abortable(withTimeout(piece, DECODER_TIMEOUT_MS), signal);
    if (!answer) throw new Error(`the browser's decoder gave nothing for ${DECODER_TIMEOUT_MS} ms`);
    this.#ended = answer.samples === null;
    return answer.samples;
  }
}

function joined(pieces: readonly Float32Array[], length: number): Float32Array<ArrayBuffer> {
  const all = new Float32Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
