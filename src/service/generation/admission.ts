import {
  charactersOf,
  estimateTokens,
  imagesOf,
  type Accepted,
  type ChatImage,
  type ChatJob,
  type ChatUsage,
  type Timings,
} from '#jobs';
import type { WaitingStage, Admitted, ModelDirectory, ModelEntry } from '#protocol';
import type { Call } from '../http/call.ts';
import { requireModel, usableModels } from '../model-list/models.ts';
import { rateLimited, storageUnavailable, unsupported, type ServiceError } from '#base';
import { choiceCount, inputOf, type Generation } from './generation.ts';

/** Tokens reserved for a reply without a limit. */
const DEFAULT_REPLY_TOKENS = 256;
/** Maximum reserved tokens; most contexts hold fewer. Tokens beyond it are counted afterwards. */
const MAX_TOKENS = 4096;
/** Tokens of a message's role and delimiters in the chat template. */
const TOKENS_PER_MESSAGE = 4;
/** Estimate for an image; most models compute more for a large one. */
const TOKENS_PER_IMAGE = 256;

/** A generation that the key's limits have admitted and that is about to begin. */
export interface GenerationRun {
  call: Call;
  generation: Generation;
  model: ModelEntry;
  counter: UsageCounter;
  /**
   * Ends the count in flight and corrects the reserved tokens. Must be called once, however the run ends.
   * Never rejects.
   * @param tokens tokens charged to the key; by default, all that were computed
   */
  settle(tokens?: number): Promise<void>;
}

/**
 * @param reserved tokens taken from the key's limit until the run has settled
 * @throws ServiceError 404, 429
 */
export async function admitGeneration(
  call: Call,
  generation: Generation,
  reserved = estimatePrompts(generation) + estimateReplies(generation),
): Promise<GenerationRun> {
  const { dependencies, admitted } = call;
  const model = await requireModel(dependencies.models, generation.model, 'chat', admitted);
  const [image] = generation.inputs.flatMap(imagesOf);
  if (image) await requireVision(dependencies.models, model, image, admitted);
  const pay = await reserve(call, reserved);
  const counter = new UsageCounter(generation, call.receivedAt);
  const settle = async (tokens = counter.totalTokens): Promise<void> => {
    call.leave();
    call.trace.usage(counter.usage);
    await pay(tokens);
  };
  const sampling = { ...model.defaults, ...generation.sampling };
  return { call, generation: { ...generation, sampling }, model, counter, settle };
}

/** @throws ServiceError 400 */
export async function requireVision(
  directory: ModelDirectory,
  { id, vision }: ModelEntry,
  image: ChatImage,
  admitted: Admitted,
): Promise<void> {
  if (vision?.()) return;
  const seeing = await usableModels(directory, admitted, (entry) => entry.vision?.() === true);
  const rule = `is an image, and ${id} does not see. Models that see: ${seeing.join(', ') || 'none'}`;
  throw unsupported(image.param, rule);
}

/**
 * Counts the request as in flight before its body is read: a key's limit bounds such bodies in memory, too.
 * @throws ServiceError 429
 */
export async function enterInFlight({ admitted, dependencies, id }: Call): Promise<() => void> {
  const leave = await dependencies.keys.enter(admitted, id);
  if (leave) return leave;
  const rule = `This key's limit of requests in flight is ${admitted.inFlightLimit}. Retry when one ends.`;
  throw rateLimited(rule, 1000);
}

/**
 * Reserves the request's tokens from the key's limit.
 * @returns a function that replaces the reserved tokens by the used ones; it never rejects
 * @throws ServiceError 429
 */
export async function reserve(call: Call, tokens: number): Promise<(used: number) => Promise<void>> {
  const { admitted, dependencies } = call;
  const { exceeded, keyId } = admitted;
  const { keys } = dependencies;
  if (exceeded) throw usedUp(call, 'requests', exceeded.retryAfterMs);
  const { limits, retryAfterMs, taken } = await keys.reserve(keyId, tokens).catch(() => {
    throw storageUnavailable();
  });
  admitted.limits = limits;
  if (retryAfterMs !== null) throw usedUp(call, 'tokens', retryAfterMs);
  // The reply is valid even if its tokens cannot be counted.
  return (used) => keys.settle(keyId, taken, used).catch(() => {});
}

/**
 * Whether the prompt of a job that ended in this stage may have been computed, so that the key pays for it. A
 * server may compute the prompt of a request that is aborted before its answer.
 */
export const mayBeComputed = (stage: WaitingStage | null, { abort }: Call): boolean =>
  stage === 'prefill' || (stage === 'sent' && abort.signal.aborted);

function usedUp({ admitted }: Call, what: 'requests' | 'tokens', retryAfterMs: number): ServiceError {
  const limit = admitted.limits ? ` of ${admitted.limits[what].limit} ${what} a minute` : '';
  const wait = Math.ceil(retryAfterMs / 1000);
  return rateLimited(`This key's limit${limit} is used up. Retry in ${wait} s.`, retryAfterMs);
}

/** Tokens of the replies, estimated before the engine counts them. */
const estimateReplies = (generation: Generation): number =>
  Math.min(generation.maxTokens ?? DEFAULT_REPLY_TOKENS, MAX_TOKENS) * choiceCount(generation);

/** Tokens of the prompts, estimated before the engine counts them. */
export const estimatePrompts = ({ inputs, partial = '' }: Generation): number =>
  inputs.reduce((total, input) => total + estimatePrompt(input), 0) + estimateTokens(partial.length);

const estimatePrompt = (input: ChatJob['input'] | undefined): number =>
  input ? Math.min(tokensOf(input), MAX_TOKENS) : 0;

function tokensOf(input: ChatJob['input']): number {
  const text = estimateTokens(charactersOf(input));
  if ('prompt' in input) return text;
  return text + input.messages.length * TOKENS_PER_MESSAGE + imagesOf(input).length * TOKENS_PER_IMAGE;
}

/** Counts the tokens of a request's choices as they arrive, so that a failed request is counted too. */
export class UsageCounter {
  readonly #generation: Generation;
  /** Prompt tokens by input: choices of the same prompt count it once. */
  readonly #prompts: number[] = [];
  /** Prompt tokens charged to the key; estimated until the engine has counted them. */
  readonly #computed: number[] = [];
  readonly #cached: number[] = [];
  readonly #completion: number[] = [];
  readonly #reasoning: number[] = [];
  readonly #startedAt: number;
  #acceptedAt: number | null = null;
  #firstTokenAt: number | null = null;
  #timings: Timings | null = null;

  /** @param startedAt milliseconds since 1970 */
  constructor(generation: Generation, startedAt: number) {
    this.#generation = generation;
    this.#startedAt = startedAt;
  }

  /**
   * Records that an engine computes the choice's prompt. Its length is estimated until the engine reports it.
   */
  computing(index: number): void {
    const input = inputOf(this.#generation, index);
    this.#computed[input] ??= estimatePrompt(this.#generation.inputs[input]);
  }

  accepted(index: number, { promptTokens, cachedTokens = 0 }: Accepted): void {
    this.#acceptedAt ??= Date.now();
    const input = inputOf(this.#generation, index);
    this.#prompts[input] = promptTokens;
    this.#computed[input] = promptTokens;
    this.#cached[input] ||= cachedTokens;
  }

  generated(index: number, tokens: number, isReasoning: boolean): void {
    this.#firstTokenAt ??= Date.now();
    if (isReasoning) this.#reasoning[index] = (this.#reasoning[index] ?? 0) + tokens;
    this.#completion[index] = (this.#completion[index] ?? 0) + tokens;
  }

  /**
   * Records the engine's own count of a job that it ended. `earlierTokens`: tokens of an earlier job for the
   * same choice.
   */
  done(index: number, usage: ChatUsage, timings: Timings, earlierTokens: number): void {
    const input = inputOf(this.#generation, index);
    if (earlierTokens === 0) {
      this.#computed[input] = this.#prompts[input] = usage.promptTokens;
      this.#reasoning[index] = usage.reasoningTokens ?? this.#reasoning[index] ?? 0;
      // Only the first choice shows what the request reused: later choices find its prompt in the cache.
      if (index % this.#generation.choices === 0) this.#cached[input] = usage.cachedTokens;
    }
    this.#completion[index] = earlierTokens + usage.completionTokens;
    this.#timings ??= timings;
  }

  get usage(): ChatUsage {
    const promptTokens = sum(this.#prompts);
    return {
      promptTokens,
      cachedTokens: Math.min(sum(this.#cached), promptTokens),
      completionTokens: sum(this.#completion),
      reasoningTokens: sum(this.#reasoning),
    };
  }

  /** Computed tokens, including prompts that no engine has counted yet. */
  get totalTokens(): number {
    return sum(this.#computed) + sum(this.#completion);
  }

  /** Timings of the first choice that ended, measured by its engine. Until then, timings measured here. */
  get timings(): Timings {
    if (this.#timings) return this.#timings;
    if (this.#acceptedAt === null) return {};
    const queueMs = this.#acceptedAt - this.#startedAt;
    if (this.#firstTokenAt === null) return { queueMs };
    return { queueMs, prefillMs: this.#firstTokenAt - this.#acceptedAt };
  }
}

/** Choices that have not begun have no entry. */
const sum = (counts: readonly (number | undefined)[]): number =>
  counts.reduce<number>((total, count) => total + (count ?? 0), 0);
