import { charactersOf, estimateTokens, imagesOf, type Accepted, type ChatJob, type ChatUsage } from '#jobs';
import type { Exchange } from '../http/exchange.ts';
import { admit, type JobRun, type Meter } from '../http/job-run.ts';
import { choiceCount, inputOf, promptOf, type Generation } from './generation.ts';

/** Tokens reserved for a reply without a limit. */
const DEFAULT_REPLY_TOKENS = 256;
/**
 * Maximum tokens reserved for a text or a reply; most contexts hold fewer, and a text that does not fit must not use up the
 * key's limit. Tokens beyond it are counted afterwards.
 */
export const MAX_TOKENS = 4096;
/** Tokens of a message's role and delimiters in the chat template. */
const TOKENS_PER_MESSAGE = 4;
/** Estimate for an image; most models compute more for a large one. */
const TOKENS_PER_IMAGE = 256;

/** The jobs of a request that generates. */
export type ChatRun = JobRun<UsageCounter>;

/** @throws ServiceError 404, 429; 400 for an image that the model cannot see */
export const admitGeneration = (exchange: Exchange, generation: Generation, isStreamed: boolean) =>
  admit(exchange, {
    model: generation.model,
    kind: 'chat',
    images: generation.inputs.flatMap(imagesOf),
    meter: new UsageCounter(generation),
    isStreamed,
    reserved: estimatePrompts(generation) + estimateReplies(generation),
  });

/** Tokens of the replies, estimated before the engine counts them. */
const estimateReplies = (generation: Generation): number =>
  Math.min(generation.maxTokens ?? DEFAULT_REPLY_TOKENS, MAX_TOKENS) * choiceCount(generation);

/** Tokens of the prompts, estimated before the engine counts them. */
export const estimatePrompts = (generation: Generation): number =>
  generation.inputs.reduce((total, _, index) => total + estimatePrompt(generation, index), 0) +
  estimateTokens(generation.partial?.length ?? 0);

const estimatePrompt = (generation: Generation, input: number): number =>
  Math.min(tokensOf(promptOf(generation, input)), MAX_TOKENS);

function tokensOf(input: ChatJob['input']): number {
  const text = estimateTokens(charactersOf(input));
  if ('prompt' in input) return text;
  return text + input.messages.length * TOKENS_PER_MESSAGE + imagesOf(input).length * TOKENS_PER_IMAGE;
}

/** Counts the tokens of a request's choices. */
export class UsageCounter implements Meter {
  readonly generation: Generation;
  /** Prompt tokens by input: choices of the same prompt count it once. */
  readonly #prompts: number[] = [];
  /** Prompt tokens charged to the key; estimated until the engine has counted them. */
  readonly #computed: number[] = [];
  readonly #cached: number[] = [];
  readonly #completion: number[] = [];
  readonly #reasoning: number[] = [];
  #choosing = 0;

  constructor(generation: Generation) {
    this.generation = generation;
  }

  /**
   * Records that an engine computes the choice's prompt. Its length is estimated until the engine reports it.
   */
  computing(index: number): void {
    const input = inputOf(this.generation, index);
    this.#computed[input] ??= estimatePrompt(this.generation, input);
  }

  accepted(index: number, { promptTokens, cachedTokens = 0 }: Accepted): void {
    const input = inputOf(this.generation, index);
    this.#prompts[input] = promptTokens;
    this.#computed[input] = promptTokens;
    this.#cached[input] ||= cachedTokens;
  }

  generated(index: number, tokens: number, isReasoning: boolean): void {
    if (isReasoning) this.#reasoning[index] = (this.#reasoning[index] ?? 0) + tokens;
    this.#completion[index] = (this.#completion[index] ?? 0) + tokens;
  }

  /**
   * Records the engine's own count of a job that it ended. `earlierTokens`: tokens of an earlier job for the
   * same choice.
   */
  done(index: number, usage: ChatUsage, earlierTokens: number): void {
    const input = inputOf(this.generation, index);
    if (earlierTokens === 0) {
      this.#computed[input] = this.#prompts[input] = usage.promptTokens;
      this.#reasoning[index] = usage.reasoningTokens ?? this.#reasoning[index] ?? 0;
      // Only the first choice shows what the request reused: later choices find its prompt in the cache.
      if (index % this.generation.choices === 0) this.#cached[input] = usage.cachedTokens;
    }
    this.#completion[index] = earlierTokens + usage.completionTokens;
  }

  /** Records the tokens of the choice of a tool. They are charged, but are not usage. */
  chose(tokens: number): void {
    this.#choosing += tokens;
  }

  /** Usage of the answer. */
  get total(): ChatUsage {
    const promptTokens = sum(this.#prompts);
    return {
      promptTokens,
      cachedTokens: Math.min(sum(this.#cached), promptTokens),
      completionTokens: sum(this.#completion),
      reasoningTokens: sum(this.#reasoning),
    };
  }

  get usage(): Partial<ChatUsage> {
    return this.#prompts.length > 0 ? this.total : {};
  }

  get charged(): number {
    return this.#choosing + sum(this.#computed) + sum(this.#completion);
  }
}

/** Choices that have not begun have no entry. */
const sum = (counts: readonly (number | undefined)[]): number =>
  counts.reduce<number>((total, count) => total + (count ?? 0), 0);
