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
  Tensor,
  WhisperFeatureExtractor,
} from '@huggingface/transformers';

import { plainEncoder } from '../../onnx/plain-encoder.ts';
import type { Build } from '../../onnx/transformers-files.ts';
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

export type WhisperModel = Awaited<ReturnType<typeof loadWhisperModel>>;

/** Loads Whisper in transformers.js. Decodes one window at a time. @throws the error of transformers.js */
export async function loadWhisperModel(
  name: string,
  options: { device: 'wasm' | 'webgpu'; dtype: Record<string, Build> },
) {
  const tokenizer = await AutoTokenizer.from_pretrained(name);
  const extractor = (await WhisperFeatureExtractor.from_pretrained(name)) as WhisperFeatureExtractor;
  const model = await AutoModelForSpeechSeq2Seq.from_pretrained(name, options);
  const config = model.generation_config as unknown as GenerationConfig;
  const fault = findWrongId(config, (token) => tokenizer.convert_tokens_to_ids(token));
  if (fault !== null) throw new Error(fault);
  const { lang_to_id: languageIds = {}, task_to_id: taskIds = {}, alignment_heads: heads = [] } = config;
  const firstTimestamp = config.no_timestamps_token_id + 1;
  const isMultilingual = config.is_multilingual === true;
  const sessions = model.sessions as Record<string, { outputNames: readonly string[] }> | undefined;
  if (!sessions) throw changed('its models have no `sessions`');
  const outputs = Object.values(sessions).flatMap(({ outputNames }) => outputNames);
  const missing = ['last_hidden_state', 'logits'].find((output) => !outputs.includes(output));
  if (missing !== undefined) throw new Error(`they give no ${missing}, but ${outputs.join(', ')}`);
  let running: AbortSignal | null = null;
  /** Logits after each token of the prompt. */
  let promptLogits: Tensor | null = null;
  const forward = model.forward.bind(model);
  model.forward = async (inputs: unknown) => {
    // generate() takes no signal. Yield in each step, so that the message that aborts can arrive.
    await yieldToEventLoop();
    running?.throwIfAborted();
    const outputsOfStep = (await forward(inputs)) as { logits: Tensor };
    promptLogits ??= outputsOfStep.logits;
    return outputsOfStep;
  };

  function startTokens({ language, task }: DecodeOptions): number[] {
    const codes = isMultilingual ? [languageIds[`<|${language}|>`], taskIds[task]] : [];
    return [config.decoder_start_token_id, ...codes.filter((code) => code !== undefined)];
  }

  /** Probability that the window has no speech. @param position position of the start token */
  function noSpeech(position: number): number {
    const { data, dims } = promptLogits ?? { data: [], dims: [] };
    if ((dims.at(1) ?? 0) <= position) throw changed('generate() gave no scores of its prompt');
    const width = dims.at(-1) ?? 0;
    const scores = (data as Float32Array).slice(position * width, (position + 1) * width);
    return Math.exp((scores[firstTimestamp - 2] ?? -Infinity) - logSumExp(scores));
  }

  return {
    firstTimestamp,
    isMultilingual,
    /** Language codes; empty if the model only knows English. */
    languages: isMultilingual ? Object.keys(languageIds).map((token) => token.slice(2, -2)) : [],
    /** Whether its graph outputs the attention that times words. */
    timesWords: heads.length > 0 && outputs.some((output) => output.startsWith('cross_attentions')),
    tokenize: plainEncoder(tokenizer),

    /** Decodes tokens to text, without special tokens and timestamps. */
    textOf(tokens: readonly number[]): string {
      const text = tokens.filter((token) => token < config.eos_token_id);
      return text.length === 0 ? '' : tokenizer.decode(text);
    },

    /** Extracts features from at most 30 s at 16 kHz. */
    async features(samples: Float32Array): Promise<Tensor> {
      return ((await extractor(samples)) as { input_features: Tensor }).input_features;
    },

    /** Detects the language. @returns its code */
    async language(features: Tensor, signal: AbortSignal): Promise<string> {
      running = signal;
      const ids = new Tensor('int64', [BigInt(config.decoder_start_token_id)], [1, 1]);
      const inputs = { input_features: features, decoder_input_ids: ids };
      const { logits } = (await model.forward(inputs)) as { logits: Tensor };
      const scores = logits.data as Float32Array;
      const [best] = Object.entries(languageIds).toSorted(
        ([, one], [, other]) => (scores[other] ?? 0) - (scores[one] ?? 0),
      );
      return best?.[0].slice(2, -2) ?? 'en';
    },

    /** Decodes a window. An abort takes effect within one step of the decoder. */
    async decode(features: Tensor, decoding: DecodeOptions): Promise<DecodedWindow> {
      const { previous, temperature, seconds, words, signal } = decoding;
      const startOfPrevious = firstTimestamp - 3;
      const before = previous.length > 0 ? [startOfPrevious, ...previous.slice(-MAX_PREVIOUS_TOKENS)] : [];
      const prompt = [...before, ...startTokens(decoding)];
      const scores = new WindowScores(prompt.length, firstTimestamp, config.eos_token_id, temperature);
      const processors = new LogitsProcessorList();
      processors.push(scores);
      running = signal;
      promptLogits = null;
      const output = await model.generate({
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
      if (tokens.at(-1) === config.eos_token_id) tokens.pop();
      // The attention of a step gives the start of the next token.
      const starts = timed ? [0, ...(timed.token_timestamps.data as Float32Array).slice(prompt.length)] : [];
      return {
        tokens,
        starts,
        averageLogprob: scores.logprobs / (tokens.length + 1),
        noSpeechProbability: noSpeech(before.length),
      };
    },
  };
}

/** Finds a special token to which the config gives another id than the tokenizer. */
export function findWrongId(config: GenerationConfig, idOf: (token: string) => unknown): string | null {
  const ids = {
    '<|endoftext|>': config.eos_token_id,
    '<|startoftranscript|>': config.decoder_start_token_id,
    '<|notimestamps|>': config.no_timestamps_token_id,
    '<|transcribe|>': config.task_to_id?.['transcribe'],
    '<|translate|>': config.task_to_id?.['translate'],
    ...config.lang_to_id,
  };
  const wrong = Object.entries(ids).find(([token, id]) => id !== undefined && idOf(token) !== id);
  return wrong ? `generation_config.json gives ${wrong.join(' the id ')}, tokenizer.json another` : null;
}

const changed = (what: string): Error =>
  new Error(`@huggingface/transformers has changed: ${what}. Install version 4.3.2.`);
