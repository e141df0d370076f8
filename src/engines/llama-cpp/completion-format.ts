import type { VariantSampling } from '../../catalog/catalog.ts';
import type { ChatEvent, Constraint, EngineFinishReason, TokenLogprob } from '../../jobs/chat.ts';
import { serverError } from '../../errors/service-error.ts';
import { engineFields, type EngineSampling, foldSeed, type Sampling } from '../../jobs/sampling.ts';
import type { Completion } from '../prompt/think-first.ts';

/** A completion as llama.cpp's server takes it, in its own names. */
export function completionRequest(
  { prompt, maxTokens, tokensBefore, constraint, topLogprobs, shownTokens }: Completion,
  sampling: Sampling,
  own: VariantSampling,
): Record<string, unknown> {
  const settings = penalizes(sampling, constraint) ? own : { ...own, frequencyPenalty: 0 };
  return {
    stream: true,
    prompt,
    ...samplers(sampling, settings, tokensBefore + (maxTokens ?? PENALTY_WINDOW)),
    ...(constraint && constrain(constraint)),
    ...(maxTokens !== undefined && { n_predict: maxTokens }),
    // It takes 0 for none at all; the one too many is cut when the chunk is read.
    ...(topLogprobs !== undefined && { n_probs: Math.max(1, topLogprobs) }),
    ...(shownTokens && { preserved_tokens: shownTokens }),
    cache_prompt: true,
    timings_per_token: true,
  };
}

/**
 * Whether the variant's own frequency penalty applies. A schema or a tool must repeat what it does, and a greedy reply is the
 * most probable one.
 */
const penalizes = ({ temperature }: Sampling, constraint?: Constraint): boolean =>
  constraint === undefined && temperature > 0;

/**
 * Most tokens back that the penalties count. OpenAI counts the reply alone, llama.cpp the prompt's end, too: a window no
 * longer than the reply may get keeps most of the prompt out of it.
 */
const PENALTY_WINDOW = 512;

/** OpenAI's parameters and the variant's own: everything else that llama.cpp does by default is turned off. */
function samplers(
  sampling: Sampling,
  { topK = 0, minP = 0, repeatPenalty = 1, frequencyPenalty = 0 }: VariantSampling,
  replyTokens: number,
): Record<string, unknown> {
  return {
    // What the model holds improbable is dropped before the temperature flattens its distribution.
    samplers: ['penalties', 'top_k', 'min_p', 'temperature', 'top_p'],
    top_k: topK,
    min_p: minP,
    repeat_penalty: repeatPenalty,
    frequency_penalty: frequencyPenalty,
    repeat_last_n: Math.min(PENALTY_WINDOW, replyTokens),
    ...engineFields(sampling, FIELDS),
  };
}

const FIELDS: EngineSampling = {
  temperature: (temperature) => ({ temperature }),
  topP: (topP) => ({ top_p: topP }),
  minP: (minP) => ({ min_p: minP }),
  seed: (seed) => ({ seed: foldSeed(seed, SEEDS) }),
  presencePenalty: (penalty) => ({ presence_penalty: penalty }),
  frequencyPenalty: (penalty) => ({ frequency_penalty: penalty }),
  logitBias: (biases) => ({
    logit_bias: Object.entries(biases).map(([token, bias]) => [Number(token), bias]),
  }),
};

/** Seeds of llama.cpp: 32 bits, of which the highest means a random one. */
const SEEDS = 0xffffffff;

function constrain(constraint: Constraint): Record<string, unknown> {
  if (constraint.kind === 'grammar') return { grammar: constraint.gbnf };
  throw new Error('the schema was not compiled');
}

/** Asks for the tokens of texts: the server divides each for a bias, its index, and repeats the bias of each token. */
export const tokensRequest = (texts: readonly string[]): Record<string, unknown> => ({
  stream: false,
  prompt: 'a',
  n_predict: 0,
  cache_prompt: true,
  logit_bias: texts.map((text, index) => [text, index]),
  verbose: true,
});

/** Reads the answer: the tokens of each text. */
export function tokenIds({ __verbose: told }: Chunk): number[][] {
  const ids: number[][] = [];
  for (const { bias, token } of told?.generation_settings?.logit_bias ?? []) (ids[bias] ??= []).push(token);
  return ids;
}

/** What llama.cpp's server streams, as far as it is read here. */
export interface Chunk {
  choices?: {
    text?: string;
    finish_reason?: string | null;
    logprobs?: { content?: RawLogprob[] | null } | null;
  }[];
  /** Settings as the server read them: in a request's last chunk, with `verbose`. */
  __verbose?: { generation_settings?: { logit_bias?: { bias: number; token: number }[] } };
  /** Answer to an embedding request. */
  data?: { embedding: number[] }[];
  usage?: { prompt_tokens: number };
  timings?: {
    cache_n: number;
    prompt_n: number;
    prompt_ms: number;
    predicted_n: number;
    predicted_ms: number;
  };
}

export type LlamaTimings = NonNullable<Chunk['timings']>;

export interface RawLogprob {
  id?: number;
  token: string;
  logprob: number;
  bytes?: number[] | null;
  top_logprobs?: RawLogprob[];
  /** Probabilities after the sampler; replaces `top_logprobs`. */
  top_probs?: { id?: number; token: string; prob: number; bytes?: number[] | null }[];
}

/** Turns the chunks of one reply into events. */
export class LlamaReplyReader {
  readonly #topLogprobs: number | undefined;
  readonly #fingerprint: string;
  #accepted: { promptTokens: number; cachedTokens: number } | null = null;
  #text = '';
  /** Came before the reply was accepted. */
  #held = '';
  #tokens = 0;
  /** Tokens of earlier attempts at this reply. */
  #before = 0;
  /** What an attempt that begins again has still to repeat. */
  #toRepeat = '';
  #finishReason: EngineFinishReason = 'stop';
  #timings: LlamaTimings | undefined;

  constructor(topLogprobs: number | undefined, fingerprint: string) {
    this.#topLogprobs = topLogprobs;
    this.#fingerprint = fingerprint;
  }

  /** What has come so far, for another attempt to go on from; its chunks are read as a continuation. */
  again(): { text: string; tokens: number } {
    this.#before = this.#tokens;
    this.#held = '';
    return { text: this.#text, tokens: this.#tokens };
  }

  /** Reads the chunks of an attempt that begins again, with the same seed, and leaves out what has come. */
  repeat(): void {
    this.#toRepeat = this.#text;
    this.#held = '';
  }

  *read(chunk: Chunk): Generator<ChatEvent, void, undefined> {
    if (chunk.timings) this.#timings = chunk.timings;
    const choice = chunk.choices?.[0];
    if (!choice) return;
    if (choice.finish_reason) this.#finishReason = choice.finish_reason === 'length' ? 'length' : 'stop';
    const text = this.#held + (choice.text ?? '');
    const logprobs = this.#logprobs(choice.logprobs?.content);
    if (!text && !logprobs) return;
    // The counts of `accepted` come with the timings, which a result that could not be read lacks.
    this.#held = this.#accepted || chunk.timings ? '' : text;
    if (!this.#held) yield* this.#grow(text, logprobs, chunk.timings);
  }

  /** Adds a chunk's text to the reply. A chunk without timings has one token. */
  *#grow(
    text: string,
    logprobs: TokenLogprob[] | undefined,
    timings: LlamaTimings | undefined,
  ): Generator<ChatEvent, void, undefined> {
    if (timings) yield* this.#accept(timings);
    const predicted = timings ? this.#before + timings.predicted_n : this.#tokens + 1;
    const tokens = Math.max(0, predicted - this.#tokens);
    this.#tokens += tokens;
    const added = this.#added(text);
    if (tokens === 0 && added === '') return;
    this.#text += added;
    yield { type: 'delta', delta: { text: added, tokens, ...(logprobs && { logprobs }) } };
  }

  /** The part of a text that has not come before. @throws ServiceError where the model repeats itself differently */
  #added(text: string): string {
    const repeated = this.#toRepeat.slice(0, text.length);
    if (!text.startsWith(repeated)) {
      const message =
        'The engine began this reply again, and generated another text. Send the request again.';
      throw serverError('engine_failed', message);
    }
    this.#toRepeat = this.#toRepeat.slice(repeated.length);
    return text.slice(repeated.length);
  }

  *end(): Generator<ChatEvent, void, undefined> {
    const timings = this.#timings;
    if (!timings) throw new Error('the reply ended without its timings');
    yield* this.#accept(timings);
    const { promptTokens, cachedTokens } = this.#accepted ?? promptOf(timings);
    const completionTokens = this.#before + timings.predicted_n;
    yield {
      type: 'done',
      finishReason: this.#finishReason,
      usage: { promptTokens, cachedTokens, completionTokens },
      timings: { queueMs: 0, prefillMs: timings.prompt_ms, decodeMs: timings.predicted_ms },
    };
  }

  *#accept(timings: LlamaTimings): Generator<ChatEvent, void, undefined> {
    if (this.#accepted) return;
    this.#accepted = promptOf(timings);
    yield { type: 'accepted', accepted: { ...this.#accepted, fingerprint: this.#fingerprint } };
  }

  #logprobs(content: RawLogprob[] | null | undefined): TokenLogprob[] | undefined {
    const wanted = this.#topLogprobs;
    if (wanted === undefined || !content) return undefined;
    return content.map((raw) => ({ ...one(raw), top: (raw.top_logprobs ?? []).slice(0, wanted).map(one) }));
  }
}

const promptOf = ({ cache_n: cachedTokens, prompt_n: computed }: LlamaTimings) => ({
  promptTokens: cachedTokens + computed,
  cachedTokens,
});

const one = ({ token, logprob, bytes }: RawLogprob) => ({ token, logprob, bytes: bytes ?? null });
