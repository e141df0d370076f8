import type { Delta } from '../protocol/job.ts';
import { engineLost } from './engine-errors.ts';

/** What the client has already: the beginning of a reply that is being made a second time. */
export interface Known {
  text: string;
  tokens: number;
  logprobs: number;
}

/** Tells the new part of a reply that is made again from the part that the client has. */
export class Replay {
  readonly #known: Known;
  #text = 0;
  #tokens = 0;
  #logprobs = 0;

  constructor(known: Known) {
    this.#known = known;
  }

  /** All that was known has come again. */
  get over(): boolean {
    const { text, tokens } = this.#known;
    return this.#text >= text.length && this.#tokens >= tokens;
  }

  /**
   * What of it is new; null: nothing.
   * @throws ServiceError `engine_lost` when it is not what had been said before.
   */
  rest(delta: Delta): Delta | null {
    if (this.over) return delta;
    const known = this.#known;
    const again = known.text.slice(this.#text, this.#text + delta.text.length);
    if (!delta.text.startsWith(again)) throw engineLost('the next one answers it differently');
    const logprobs = delta.logprobs?.slice(Math.max(0, known.logprobs - this.#logprobs));
    const text = delta.text.slice(again.length);
    this.#text += delta.text.length;
    this.#tokens += delta.tokens;
    this.#logprobs += delta.logprobs?.length ?? 0;
    const tokens = Math.min(delta.tokens, Math.max(0, this.#tokens - known.tokens));
    if (text === '' && tokens === 0 && !logprobs?.length) return null;
    return { ...delta, text, tokens, ...(logprobs && { logprobs }) };
  }
}
