import type { Accepted, ChatUsage, Timings } from '../../protocol/job.ts';
import { inputOf, type Generation } from './generation.ts';

/** Counts the tokens of a request's choices as they come, so that a request that fails is counted too. */
export class UsageCounter {
  readonly #generation: Generation;
  /** By input: choices of the same prompt count it once. */
  readonly #prompts: number[] = [];
  readonly #cached: number[] = [];
  readonly #completion: number[] = [];
  readonly #reasoning: number[] = [];
  readonly #now: () => number;
  readonly #startedAt: number;
  #acceptedAt: number | null = null;
  #firstTokenAt: number | null = null;
  #timings: Timings | null = null;

  /** `startedAt`, `now`: milliseconds since 1970. */
  constructor(generation: Generation, startedAt: number, now: () => number) {
    this.#generation = generation;
    this.#startedAt = startedAt;
    this.#now = now;
  }

  accepted(index: number, { promptTokens, cachedTokens = 0 }: Accepted): void {
    this.#acceptedAt ??= this.#now();
    const input = inputOf(this.#generation, index);
    this.#prompts[input] = promptTokens;
    this.#cached[input] ||= cachedTokens;
  }

  generated(index: number, tokens: number, isReasoning: boolean): void {
    this.#firstTokenAt ??= this.#now();
    if (isReasoning) this.#reasoning[index] = (this.#reasoning[index] ?? 0) + tokens;
    this.#completion[index] = (this.#completion[index] ?? 0) + tokens;
  }

  /** The engine's own count of a job that it ended itself; `earlierTokens`: of a job before it for the same choice. */
  done(index: number, usage: ChatUsage, timings: Timings, earlierTokens: number): void {
    const input = inputOf(this.#generation, index);
    if (earlierTokens === 0) {
      this.#prompts[input] = usage.promptTokens;
      this.#reasoning[index] = usage.reasoningTokens ?? this.#reasoning[index] ?? 0;
      // Later choices find the prompt of the first in the cache: only the first tells what the request reused.
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

  get totalTokens(): number {
    const { promptTokens, completionTokens } = this.usage;
    return promptTokens + completionTokens;
  }

  /** Of the first choice that ended, as its engine has measured; until then, as measured here. */
  get timings(): Partial<Timings> {
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
