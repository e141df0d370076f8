/**
 * Whisper in transformers.js, one window at a time.
 * @remarks
 * - Relies on: `generate()` calling `model.forward` once a step, with the whole prompt in the first; `model.sessions`
 *   with their `outputNames`; that `generate()` with `max_new_tokens` decodes one window.
 * - Read in: @huggingface/transformers 4.3.2, `models/whisper/modeling_whisper.js`.
 * - Notices: `sessions` is missing; the first step of a window gave no logits for its prompt.
 * - Then: the load or the transcription fails with an error that names the version.
 */
import {
  AutoModelForSpeechSeq2Seq,
  AutoTokenizer,
  type DynamicCache,
  LogitsProcessorList,
  type PreTrainedModel,
  type PreTrainedTokenizer,
  Tensor,
  WhisperFeatureExtractor,
} from '@huggingface/transformers';

import { PlainEncoder } from '../../transformers/plain-encoder.ts';
import type { Build } from '../../transformers/transformers-files.ts';
import type { TranscriptionJob } from '#jobs';
import { yieldToEventLoop } from '#browser';
import { logSumExp, WindowScores } from './window-scores.ts';

/** Length of an encoder frame in seconds, which is also the step of timestamp tokens. */
export const FRAME_SECONDS = 0.02;
/** Maximum number of tokens per window: half of the decoder's positions. The other half is for the text before the window. */
const MAX_WINDOW_TOKENS = 224;
export const MAX_PREVIOUS_TOKENS = 223;
const MAX_POSITIONS = 448;

/** Fields of generation_config.json that this module reads. */
interface GenerationConfig {
  decoder_start_token_id: number;
  eos_token_id: number;
  no_timestamps_token_id: number;
  is_multilingual?: boolean;
  lang_to_id?: Record<string, number>;
  task_to_id?: Record<string, number>;
  alignment_heads?: unknown[];
}

export interface DecodedWindow {
  /** Text and timestamp tokens, without the prompt and the end token. */
  tokens: number[];
  /** Start of each token in seconds, and the end of the last; empty unless words are timed. */
  starts: number[];
  /** Mean log probability of the tokens. */
  averageLogprob: number;
  noSpeechProbability: number;
}

export interface DecodeOptions {
  /** Tokens of the text before the window. */
  previous: readonly number[];
  /** Language code, such as `en`. Monolingual models ignore it. */
  language: string;
  task: TranscriptionJob['task'];
  /** 0 is greedy. */
  temperature: number;
  /** Length of the window's sound in seconds. */
  seconds: number;
  /** Whether to time the tokens. */
  words: boolean;
  signal: AbortSignal;
}

/** Result of `generate()` with token timestamps. */
interface TimedSequences {
  sequences: Tensor;
  token_timestamps: Tensor;
  past_key_values: DynamicCache;
}

/** Whisper in transformers.js. Decodes one window at a time. */
export class WhisperModel {
  readonly firstTimestamp: number;
  readonly isMultilingual: boolean;
  /** Language codes; empty if the model only knows English. */
  readonly languages: string[];
  /** Whether its graph outputs the attention that times words. */
  readonly timesWords: boolean;
  readonly #model: PreTrainedModel;
  readonly #extractor: WhisperFeatureExtractor;
  readonly #tokenizer: PreTrainedTokenizer;
  readonly #encoder: PlainEncoder;
  readonly #config: GenerationConfig;
  #signal: AbortSignal | null = null;
  /** Logits after each token of the prompt. */
  #promptLogits: Tensor | null = null;

  private constructor(
    model: PreTrainedModel,
    extractor: WhisperFeatureExtractor,
    tokenizer: PreTrainedTokenizer,
  ) {
    this.#model = model;
    this.#extractor = extractor;
    this.#tokenizer = tokenizer;
    this.#encoder = new PlainEncoder(tokenizer);
    const config = model.generation_config as unknown as GenerationConfig;
    this.#config = config;
    this.firstTimestamp = config.no_timestamps_token_id + 1;
    this.isMultilingual = config.is_multilingual === true;
    const { lang_to_id: ids = {}, alignment_heads: heads = [] } = config;
    this.languages = this.isMultilingual ? Object.keys(ids).map((token) => token.slice(2, -2)) : [];
    const sessions = model.sessions as Record<string, { outputNames: readonly string[] }> | undefined;
    if (!sessions) throw changed('its models have no `sessions`');
    const outputs = Object.values(sessions).flatMap(({ outputNames }) => outputNames);
    this.timesWords = heads.length > 0 && outputs.some((name) => name.startsWith('cross_attentions'));
    const forward = model.forward.bind(model);
    model.forward = async (inputs: unknown) => {
      // generate() takes no signal. Yield in each step, so that the message that aborts can arrive.
      await yieldToEventLoop();
      this.#signal?.throwIfAborted();
      const outputsOfStep = (await forward(inputs)) as { logits: Tensor };
      this.#promptLogits ??= outputsOfStep.logits;
      return outputsOfStep;
    };
  }

  /** @throws the error of transformers.js */
  static async load(
    name: string,
    options: { device: 'wasm' | 'webgpu'; dtype: Record<string, Build> },
  ): Promise<WhisperModel> {
    const tokenizer = await AutoTokenizer.from_pretrained(name);
    const extractor = (await WhisperFeatureExtractor.from_pretrained(name)) as WhisperFeatureExtractor;
    return new WhisperModel(
      await AutoModelForSpeechSeq2Seq.from_pretrained(name, options),
      extractor,
      tokenizer,
    );
  }

  tokenize(text: string): number[] {
    return this.#encoder.encode(text);
  }

  /** Decodes tokens to text, without special tokens and timestamps. */
  textOf(tokens: readonly number[]): string {
    const text = tokens.filter((token) => token < this.#config.eos_token_id);
    return text.length === 0 ? '' : this.#tokenizer.decode(text);
  }

  /** Extracts features from at most 30 s at 16 kHz. */
  async features(samples: Float32Array): Promise<Tensor> {
    return ((await this.#extractor(samples)) as { input_features: Tensor }).input_features;
  }

  /** Detects the language. @returns its code */
  async language(features: Tensor, signal: AbortSignal): Promise<string> {
    this.#signal = signal;
    const ids = new Tensor('int64', [BigInt(this.#config.decoder_start_token_id)], [1, 1]);
    const inputs = { input_features: features, decoder_input_ids: ids };
    const { logits } = (await this.#model.forward(inputs)) as { logits: Tensor };
    const { lang_to_id: languages = {} } = this.#config;
    const scores = logits.data as Float32Array;
    const [best] = Object.entries(languages).toSorted(([, a], [, b]) => (scores[b] ?? 0) - (scores[a] ?? 0));
    return best?.[0].slice(2, -2) ?? 'en';
  }

  /** Decodes a window. An abort takes effect within one step of the decoder. */
  async decode(features: Tensor, options: DecodeOptions): Promise<DecodedWindow> {
    const { previous, temperature, seconds, words, signal } = options;
    const startOfPrevious = this.firstTimestamp - 3;
    const before = previous.length > 0 ? [startOfPrevious, ...previous.slice(-MAX_PREVIOUS_TOKENS)] : [];
    const prompt = [...before, ...this.#startTokens(options)];
    const scores = new WindowScores(prompt.length, this.firstTimestamp, temperature);
    const processors = new LogitsProcessorList();
    processors.push(scores);
    this.#signal = signal;
    this.#promptLogits = null;
    const output = await this.#model.generate({
      inputs: features,
      decoder_input_ids: prompt,
      // With this limit, generate() decodes one window and leaves the next to the caller.
      max_new_tokens: Math.min(MAX_WINDOW_TOKENS, MAX_POSITIONS - prompt.length),
      return_timestamps: true,
      logits_processor: processors,
      ...(temperature > 0 && { do_sample: true, temperature }),
      ...(words && { return_token_timestamps: true, num_frames: Math.ceil(seconds / FRAME_SECONDS) }),
    });
    const timed = output instanceof Tensor ? null : (output as unknown as TimedSequences);
    await timed?.past_key_values.dispose();
    const sequences = timed?.sequences ?? (output as Tensor);
    const tokens = Array.from(sequences.data as BigInt64Array, Number).slice(prompt.length);
    scores.note(tokens.at(-1));
    if (tokens.at(-1) === this.#config.eos_token_id) tokens.pop();
    // The attention of a step gives the start of the next token.
    const starts = timed ? [0, ...(timed.token_timestamps.data as Float32Array).slice(prompt.length)] : [];
    return {
      tokens,
      starts,
      averageLogprob: scores.logprobs / (tokens.length + 1),
      noSpeechProbability: this.#noSpeech(before.length),
    };
  }

  #startTokens({ language, task }: DecodeOptions): number[] {
    const { lang_to_id: languages = {}, task_to_id: tasks = {} } = this.#config;
    const codes = this.isMultilingual ? [languages[`<|${language}|>`], tasks[task]] : [];
    return [this.#config.decoder_start_token_id, ...codes.filter((code) => code !== undefined)];
  }

  /** Probability that the window has no speech. @param position position of the start token */
  #noSpeech(position: number): number {
    const { data, dims } = this.#promptLogits ?? { data: [], dims: [] };
    if ((dims.at(1) ?? 0) <= position) throw changed('generate() gave no scores of its prompt');
    const width = dims.at(-1) ?? 0;
    const scores = (data as Float32Array).slice(position * width, (position + 1) * width);
    const noSpeech = this.firstTimestamp - 2;
    return Math.exp((scores[noSpeech] ?? -Infinity) - logSumExp(scores));
  }
}

const changed = (what: string): Error =>
  new Error(`@huggingface/transformers has changed: ${what}. Install version 4.3.2.`);
