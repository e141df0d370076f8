import type { Chunk, LlamaTimings, RawLogprob } from '#llama';
import type { VariantSampling } from '#catalog';
import {
  engineFields,
  foldSeed,
  grammarOf,
  type ChatEvent,
  type Constraint,
  type EngineFinishReason,
  type TokenLogprob,
  type Sampling,
} from '#jobs';
import { notNumbers, omitNulls, serverError } from '#base';
import type { Completion } from '#chat-template';

/** Translates a completion into a request to llama.cpp's server. */
export function completionRequest(
  { prompt, maxTokens, constraint, topLogprobs, shownTokens }: Completion,
  sampling: Sampling,
  own: VariantSampling,
): Record<string, unknown> {
  const settings = penalizes(sampling, constraint) ? own : { ...own, frequencyPenalty: 0 };
  return {
    stream: true,
    prompt,
    ...samplers(sampling, settings),
    ...(constraint && { grammar: grammarOf(constraint) }),
    // 0 would turn log probabilities off. `LlamaReplyReader` drops the extra one.
    ...(topLogprobs !== undefined && { n_probs: Math.max(1, topLogprobs) }),
    // llama.cpp reads the lowest 32 bits.
    ...omitNulls({ n_predict: maxTokens && Math.min(maxTokens, 2 ** 31 - 1), preserved_tokens: shownTokens }),
    cache_prompt: true,
    timings_per_token: true,
  };
}

/**
 * Whether the variant's own frequency penalty applies. Constrained output has to repeat its syntax, and a greedy
 * reply is defined as the most probable one.
 */
const penalizes = ({ temperature }: Sampling, constraint?: Constraint): boolean =>
  constraint === undefined && temperature > 0;

/**
 * Maximum number of a reply's last tokens that the penalties count. The kernels (tools/kernels/server.h) leave out the
 * prompt's: examples in it, and the token that ends each turn, would become improbable.
 */
const PENALTY_WINDOW = 512;

/** OpenAI's parameters and the variant's own. All other samplers that llama.cpp runs by default are turned off. */
function samplers(
  sampling: Sampling,
  { topK = 0, minP = 0, repeatPenalty = 1, frequencyPenalty = 0 }: VariantSampling,
): Record<string, unknown> {
  return {
    // `min_p` drops improbable tokens before the temperature flattens the distribution.
    samplers: ['penalties', 'top_k', 'min_p', 'temperature', 'top_p'],
    top_k: topK,
    min_p: minP,
    repeat_penalty: repeatPenalty,
    frequency_penalty: frequencyPenalty,
    repeat_last_n: PENALTY_WINDOW,
    ...engineFields(sampling, 'llama.cpp', {
      seed: (seed) => ({ seed: foldSeed(seed, SEEDS) }),
      logitBias: (biases) => ({
        logit_bias: Object.entries(biases).map(([token, bias]) => [Number(token), bias]),
      }),
    }),
  };
}

/** Number of llama.cpp's seeds: 32 bits, without the highest value, which requests a random seed. */
const SEEDS = 0xffffffff;

/**
 * Requests the tokens of texts: the server tokenizes each for a logit bias (its index here)
 * and reports the bias of each token.
 */
export const tokensRequest = (texts: readonly string[]): Record<string, unknown> => ({
  stream: false,
  prompt: 'a',
  n_predict: 0,
  cache_prompt: true,
  logit_bias: texts.map((text, index) => [text, index]),
  verbose: true,
});

/** Reads the tokens of each text from the answer to `tokensRequest()`. */
export function tokenIds({ __verbose: verbose }: Chunk): number[][] {
  const ids: number[][] = [];
  for (const { bias, token } of verbose?.generation_settings?.logit_bias ?? [])
    (ids[bias] ??= []).push(token);
  return ids;
}

/** Turns the chunks of one reply into events. */
export class LlamaReplyReader {
  readonly #topLogprobs: number | undefined;
  readonly #fingerprint: string;
  #accepted: { promptTokens: number; cachedTokens: number } | null = null;
  #text = '';
  /** Text that arrived before the reply was accepted. */
  #held = '';
  #tokens = 0;
  /** Tokens of earlier attempts at this reply. */
  #before = 0;
  /** Text that a restarted attempt still has to repeat. */
  #toRepeat = '';
  #finishReason: EngineFinishReason = 'stop';
  #timings: LlamaTimings | undefined;

  constructor(topLogprobs: number | undefined, fingerprint: string) {
    this.#topLogprobs = topLogprobs;
    this.#fingerprint = fingerprint;
  }

  /** Returns what has arrived, for an attempt that resumes there. Later chunks are read as its continuation. */
  again(): { text: string; tokens: number } {
    this.#before = this.#tokens;
    this.#held = '';
    return { text: this.#text, tokens: this.#tokens };
  }

  /** Prepares for an attempt that restarts with the same seed: text that has already arrived is skipped. */
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
    // `accepted` needs the counts in the timings, which a result that was not written out lacks.
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

  /** Removes what a restarted attempt repeats. @throws ServiceError if it generates different text */
  #added(text: string): string {
    const repeated = this.#toRepeat.slice(0, text.length);
    if (!text.startsWith(repeated)) {
      const message = 'The engine restarted this reply and generated different text. Send the request again.';
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
      timings: { prefillMs: timings.prompt_ms, decodeMs: timings.predicted_ms },
    };
  }

  *#accept(timings: LlamaTimings): Generator<ChatEvent, void, undefined> {
    if (this.#accepted) return;
    this.#accepted = promptOf(timings);
    yield { type: 'accepted', accepted: { ...this.#accepted, fingerprint: this.#fingerprint } };
  }

  #logprobs(content: RawLogprob[] | null | undefined): TokenLogprob[] | undefined {
    const maxTop = this.#topLogprobs;
    if (maxTop === undefined || !content) return undefined;
    return content.map((raw) => ({
      ...one(raw),
      logprob: numberOf(raw.logprob),
      top: (raw.top_logprobs ?? []).slice(0, maxTop).map(one),
    }));
  }
}

const promptOf = ({ cache_n: cachedTokens, prompt_n: computed }: LlamaTimings) => ({
  promptTokens: cachedTokens + computed,
  cachedTokens,
});

const one = ({ token, logprob, bytes }: RawLogprob) => ({ token, logprob, bytes: bytes ?? null });

/**
 * Checks the probability of a generated token. llama.cpp's server writes null for what is not a number.
 * @throws ServiceError `engine_failed`
 */
export function numberOf(probability: number | null | undefined): number {
  if (typeof probability === 'number') return probability;
  throw notNumbers();
}
