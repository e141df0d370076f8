import {
  AutoModelForSpeechSeq2Seq,
  AutoTokenizer,
  DynamicCache,
  Tensor,
  WhisperFeatureExtractor,
  type PreTrainedModel,
  type PreTrainedTokenizer,
} from '@huggingface/transformers';

import type { SpecialTokens } from './timestamp-rules.ts';
import { yieldToEventLoop } from '../../../util/yield-to-event-loop.ts';
import { applyTimestampRules, logSumExp } from './timestamp-rules.ts';
import { alignTokens, FRAME_SECONDS } from './word-times.ts';

export const SAMPLE_RATE = 16_000;
/** The model hears windows of this length; shorter ones are filled with silence. */
export const WINDOW_SECONDS = 30;
/** Half of the decoder's positions: the other half is for what came before. */
const MAX_WINDOW_TOKENS = 224;
export const MAX_PREVIOUS_TOKENS = 223;

/** What of generation_config.json decides the decoding. */
interface GenerationConfig {
  decoder_start_token_id: number;
  eos_token_id: number;
  no_timestamps_token_id: number;
  is_multilingual?: boolean;
  lang_to_id?: Record<string, number>;
  task_to_id?: Record<string, number>;
  suppress_tokens?: number[] | null;
  begin_suppress_tokens?: number[] | null;
  /** Layer and number of each head of the decoder that follows the sound. */
  alignment_heads?: [layer: number, head: number][];
}

/** A window as the encoder has heard it. */
export type HeardWindow = Tensor;

export interface DecodedWindow {
  tokens: number[];
  /** Mean log probability of its tokens. */
  averageLogprob: number;
  noSpeechProbability: number;
}

export interface DecodeOptions {
  /** Tokens of the text before the window. */
  previous: readonly number[];
  /** `en`; none for a model of one language. */
  language: string | null;
  task: 'transcribe' | 'translate';
  temperature: number;
  signal: AbortSignal;
}

/** Of a window, as the encoder takes it. */
type Features = (samples: Float32Array) => Promise<{ input_features: Tensor }>;

interface Session {
  forward(inputs: Record<string, unknown>): Promise<Record<string, Tensor>>;
  sessions: Record<string, { run(feeds: unknown): Promise<unknown>; outputNames?: readonly string[] }>;
}

const ATTENTIONS = 'cross_attentions.';

/** Whisper on onnxruntime: windows of sound to tokens. */
export class WhisperModel {
  readonly special: SpecialTokens;
  readonly #session: Session;
  readonly #features: Features;
  readonly #tokenizer: PreTrainedTokenizer;
  readonly #config: GenerationConfig;

  private constructor(model: PreTrainedModel, features: Features, tokenizer: PreTrainedTokenizer) {
    this.#session = model as unknown as Session;
    this.#features = features;
    this.#tokenizer = tokenizer;
    this.#config = model.generation_config as unknown as GenerationConfig;
    const { decoder_start_token_id: start, eos_token_id: end, no_timestamps_token_id: last } = this.#config;
    const startOfPrevious = last - 2;
    this.special = { start, end, startOfPrevious, noSpeech: last - 1, firstTimestamp: last + 1 };
  }

  /** @throws what transformers.js fails with */
  static async load(
    name: string,
    options: { device: 'wasm' | 'webgpu'; dtype: 'fp32' | 'q8' },
  ): Promise<WhisperModel> {
    const tokenizer = await AutoTokenizer.from_pretrained(name);
    const features = (await WhisperFeatureExtractor.from_pretrained(name)) as unknown as Features;
    return new WhisperModel(
      await AutoModelForSpeechSeq2Seq.from_pretrained(name, options),
      features,
      tokenizer,
    );
  }

  /** Codes of the languages that it knows: `en`. */
  get languages(): string[] {
    const { is_multilingual: isMultilingual, lang_to_id: ids = {} } = this.#config;
    return isMultilingual ? Object.keys(ids).map((token) => token.slice(2, -2)) : ['en'];
  }

  get isMultilingual(): boolean {
    return this.#config.is_multilingual === true;
  }

  /** Its files say where the decoder listens. */
  get timesWords(): boolean {
    const { alignment_heads: heads = [] } = this.#config;
    const outputs = Object.values(this.#session.sessions).flatMap(({ outputNames = [] }) => outputNames);
    return heads.length > 0 && outputs.some((name) => name.startsWith(ATTENTIONS));
  }

  tokenize(text: string): number[] {
    return this.#tokenizer.encode(text, { add_special_tokens: false });
  }

  /** Special tokens and times are left out. */
  textOf(tokens: readonly number[]): string {
    const text = tokens.filter((token) => token < this.special.end);
    return text.length === 0 ? '' : this.#tokenizer.decode(text);
  }

  /** @param samples at most 30 s at 16 kHz */
  async hear(samples: Float32Array): Promise<HeardWindow> {
    const { input_features: input } = await this.#features(samples);
    const outputs = await this.#session.sessions['model']?.run({
      input_features: (input as unknown as { ort_tensor: unknown }).ort_tensor,
    });
    return new Tensor((outputs as { last_hidden_state: never }).last_hidden_state);
  }

  /** The language that is spoken. */
  async language(heard: HeardWindow): Promise<string> {
    const { lang_to_id: ids = {} } = this.#config;
    const { logits } = await this.#session.forward({
      encoder_outputs: heard,
      decoder_input_ids: idTensor([this.special.start]),
    });
    const scores = lastRow(logits);
    const [best] = Object.entries(ids).toSorted(([, a], [, b]) => (scores[b] ?? 0) - (scores[a] ?? 0));
    return best?.[0].slice(2, -2) ?? 'en';
  }

  /** Stops within one step of the decoder when the signal aborts. */
  async decode(
    heard: HeardWindow,
    { previous, language, task, temperature, signal }: DecodeOptions,
  ): Promise<DecodedWindow> {
    const { special } = this;
    const start = this.#startTokens(language, task);
    const before =
      previous.length > 0 ? [special.startOfPrevious, ...previous.slice(-MAX_PREVIOUS_TOKENS)] : [];
    const tokens: number[] = [];
    let ids = [...before, ...start];
    let cache: DynamicCache | null = null;
    let noSpeechProbability = 0;
    let logprobs = 0;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- each step depends on the one before
      const outputs = await this.#session.forward({
        encoder_outputs: heard,
        decoder_input_ids: idTensor(ids),
        past_key_values: cache,
      });
      const { logits } = outputs;
      if (cache === null) noSpeechProbability = probability(row(logits, before.length), special.noSpeech);
      cache = remember(outputs, cache);
      const scores = lastRow(logits);
      this.#suppress(scores, tokens);
      applyTimestampRules(scores, tokens, special);
      const next = choose(scores, temperature);
      logprobs += (scores[next] ?? 0) - logSumExp(scores);
      if (next === special.end) break;
      tokens.push(next);
      if (tokens.length >= MAX_WINDOW_TOKENS) break;
      ids = [next];
      // oxlint-disable-next-line no-await-in-loop -- lets an abort in
      await yieldToEventLoop();
      signal.throwIfAborted();
    }
    return { tokens, averageLogprob: logprobs / (tokens.length + 1), noSpeechProbability };
  }

  /**
   * Seconds after the window's start at which each token begins, and what follows the last.
   * @param tokens of text
   * @param seconds of the window that are sound
   */
  async align(
    heard: HeardWindow,
    tokens: readonly number[],
    { language, task, seconds }: Pick<DecodeOptions, 'language' | 'task'> & { seconds: number },
  ): Promise<number[]> {
    const start = this.#startTokens(language, task);
    const ids = [...start, this.#config.no_timestamps_token_id, ...tokens];
    const outputs = await this.#session.forward({
      encoder_outputs: heard,
      decoder_input_ids: idTensor(ids),
      past_key_values: null,
    });
    const frames = Math.ceil(seconds / FRAME_SECONDS);
    const heads = (this.#config.alignment_heads ?? []).map(([layer, head]) =>
      headOf(outputs[`${ATTENTIONS}${layer}`], head, frames),
    );
    const starts = alignTokens({ heads, frames, tokens: ids.length }, start.length);
    return starts.map((frame) => frame * FRAME_SECONDS);
  }

  #startTokens(language: string | null, task: DecodeOptions['task']): number[] {
    const { lang_to_id: languages = {}, task_to_id: tasks = {} } = this.#config;
    const codes = this.isMultilingual && language !== null ? [languages[`<|${language}|>`], tasks[task]] : [];
    return [this.special.start, ...codes.filter((code) => code !== undefined)];
  }

  #suppress(scores: Float32Array, tokens: readonly number[]): void {
    const { suppress_tokens: always, begin_suppress_tokens: first } = this.#config;
    for (const token of always ?? []) scores[token] = -Infinity;
    if (tokens.length === 0) for (const token of first ?? []) scores[token] = -Infinity;
  }
}

const idTensor = (ids: readonly number[]): Tensor =>
  new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]);

/** Scores of the token after one position. */
function row(logits: Tensor | undefined, position: number): Float32Array {
  if (!logits) throw new Error('the decoder gives no logits');
  const width = logits.dims.at(-1) ?? 0;
  return (logits.data as Float32Array).slice(position * width, (position + 1) * width);
}

/** Its first `frames` of each row, which sum to 1 again. */
function headOf(attentions: Tensor | undefined, head: number, frames: number): Float32Array {
  const [, , rows = 0, width = 0] = attentions?.dims ?? [];
  const data = attentions?.data as Float32Array;
  const shares = new Float32Array(rows * frames);
  for (let at = 0; at < rows; at++) {
    const from = (head * rows + at) * width;
    const part = data.subarray(from, from + frames);
    const sum = part.reduce((total, share) => total + share, 0) || 1;
    shares.set(
      part.map((share) => share / sum),
      at * frames,
    );
  }
  return shares;
}

const lastRow = (logits: Tensor | undefined): Float32Array => row(logits, (logits?.dims[1] ?? 1) - 1);

const probability = (scores: Float32Array, token: number): number =>
  Math.exp((scores[token] ?? -Infinity) - logSumExp(scores));

/** The decoder gives back what it had of the encoder's states only the first time. */
function remember(outputs: Record<string, Tensor>, before: DynamicCache | null): DynamicCache {
  const kept = (before ?? {}) as Record<string, Tensor>;
  const entries = Object.entries(outputs).flatMap(([name, tensor]) => {
    if (!name.startsWith('present')) return [];
    const key = name.replace('present', 'past_key_values');
    return [[key, name.includes('encoder') ? (kept[key] ?? tensor) : tensor] as const];
  });
  return new DynamicCache(Object.fromEntries(entries));
}

function choose(scores: Float32Array, temperature: number): number {
  const hot = temperature > 0;
  let best = 0;
  let highest = -Infinity;
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at] ?? -Infinity;
    if (score === -Infinity) continue;
    // The maximum with Gumbel noise is a sample of the softmax.
    const value = hot ? score / temperature - Math.log(-Math.log(Math.random())) : score;
    if (value > highest) [best, highest] = [at, value];
  }
  return best;
}
