import type { Chunk } from '../../../src/llama/chunk.ts';
import { RequestRejectedError, type ServerCalls } from '../../../src/llama/internals/server-calls.ts';

const NO_TIMINGS = { cache_n: 0, prompt_n: 0, prompt_ms: 0, predicted_n: 0, predicted_ms: 0 };

/**
 * Stands in for llama.cpp's server: a step advances every slot, and hands out one result of one of them; others wait.
 * `observeCalls()` checks it against the real one.
 */
export class FakeLlamaServer implements ServerCalls {
  readonly log: string[] = [];
  readonly #slots = new Map<
    number,
    { prompt: string; left: number; tokens: number; right: number; results: (string | null)[] }
  >();
  /** Steps of each prompt that was cancelled. */
  readonly #computed = new Map<string, number>();
  readonly #counts = new Map<number, { tokens: number; isAlone: boolean }>();
  #ids = 0;

  /** A prompt takes a step for each 100 characters, at least one; then come `n_predict` tokens, at least one. */
  async begin(fields: Record<string, unknown>): Promise<number> {
    const prompt = String(fields['prompt']);
    this.log.push(`begin ${prompt.length}`);
    if (prompt === 'bad') throw new RequestRejectedError('not understood');
    if (prompt.includes('<eos>')) return this.#count(prompt, false);
    const cached = this.crowded ? (this.#computed.get(prompt) ?? 0) : 0;
    this.#slots.set(++this.#ids, {
      prompt,
      left: Math.max(1, Math.ceil(prompt.length / 100) - cached),
      tokens: Math.max(1, Number(fields['n_predict'])),
      right: 0,
      results: [],
    });
    return this.#ids;
  }

  /** Nothing is embedded beside a completion. */
  async beginEmbedding(text: string): Promise<number> {
    return this.#count(text, true);
  }

  beginRank(query: string, document: string): Promise<number> {
    return this.beginEmbedding(query + document);
  }

  /** A character is a token, and `<eos>` is one. */
  #count(text: string, isAlone: boolean): number {
    this.#counts.set(++this.#ids, { tokens: text.replaceAll('<eos>', '.').length, isAlone });
    return this.#ids;
  }

  /** Tokens that are right in each draft. */
  drafted = 3;

  async step(id: number, drafts = false) {
    let room = this.crowded ? 1 : Infinity;
    // The longest prompt is in the lowest slot: the worst that can be.
    for (const slot of [...this.#slots.values()].toSorted((a, b) => b.left - a.left)) {
      if (slot.left > 0 && room-- > 0 && --slot.left === 0) slot.results.push(null);
      if (slot.left > 0 || slot.tokens === 0) continue;
      if (drafts) slot.right += Math.min(this.drafted, slot.tokens - 1);
      for (let token = drafts ? this.drafted : 0; token >= 0 && slot.tokens > 0; token--) {
        slot.results.push('t');
        if (--slot.tokens === 0) slot.results.push('');
      }
    }
    if (this.dead) throw new Error('memory access out of bounds');
    const counted = this.#counts.get(id);
    const busy = [...this.#slots.values()].filter(({ left, tokens }) => left + tokens > 0).length;
    if (counted) {
      const mustWait = counted.isAlone ? busy > 0 : busy >= this.slots || room <= 0;
      if (mustWait) return { chunks: [], more: true };
      throw new RequestRejectedError('is too large', counted.tokens);
    }
    return this.#result(id) ?? { chunks: [], more: true };
  }

  async take(id: number) {
    return this.#result(id);
  }

  /** The first result of each completion is empty, the last one has no text. */
  #result(id: number) {
    const slot = this.#slots.get(id);
    const text = slot?.results.shift();
    if (slot && text === undefined) return null;
    const more = slot !== undefined && text !== '';
    if (!more) this.#slots.delete(id);
    const timings =
      this.timings?.(id) ?? (slot?.right ? { ...NO_TIMINGS, draft_n_accepted: slot.right } : null);
    return {
      chunks: typeof text === 'string' ? [{ choices: [{ text }], ...(timings && { timings }) }] : [],
      more,
    };
  }

  async cancel(id: number): Promise<void> {
    this.log.push(`cancel ${id}`);
    const slot = this.#slots.get(id);
    if (slot) this.#computed.set(slot.prompt, Math.ceil(slot.prompt.length / 100) - slot.left);
    this.#slots.delete(id);
  }

  /** A step has room for one prompt's piece, as llama.cpp's has: the lowest slot fills it. */
  crowded = false;
  dead = false;
  /** A count waits for a free one. */
  slots = Infinity;
  timings?: (id: number) => NonNullable<Chunk['timings']>;
}
