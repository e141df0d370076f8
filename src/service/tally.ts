import type { Accepted, ChatUsage, Timings } from '../protocol/job.ts';

/** What the choices of one request have cost so far, kept up to date so that a broken request is counted too. */
export class Tally {
  #prompt = 0;
  #cached = 0;
  readonly #completion: number[] = [];
  #timings: Timings | null = null;

  accepted({ promptTokens, cachedTokens = 0 }: Accepted): void {
    this.#prompt = promptTokens;
    this.#cached ||= cachedTokens;
  }

  generated(index: number, tokens: number): void {
    this.#completion[index] = (this.#completion[index] ?? 0) + tokens;
  }

  /** The engine's own count of a choice that it ended itself. */
  done(index: number, usage: ChatUsage, timings: Timings): void {
    this.#prompt = usage.promptTokens;
    // Later choices find the prompt of the first in the cache; what the request was spared is told by the first.
    if (index === 0) this.#cached = usage.cachedTokens;
    this.#completion[index] = usage.completionTokens;
    this.#timings ??= timings;
  }

  /** The prompt is counted once, whatever the number of choices. */
  get usage(): ChatUsage {
    return {
      promptTokens: this.#prompt,
      cachedTokens: Math.min(this.#cached, this.#prompt),
      completionTokens: this.#completion.reduce((sum, tokens) => sum + (tokens ?? 0), 0),
    };
  }

  get totalTokens(): number {
    const { promptTokens, completionTokens } = this.usage;
    return promptTokens + completionTokens;
  }

  /** Of the first choice that ended; null while none has. */
  get timings(): Timings | null {
    return this.#timings;
  }
}
