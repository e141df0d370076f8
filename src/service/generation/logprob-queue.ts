import type { TokenLogprob } from '../../protocol/job.ts';

/** Log probabilities of tokens whose text is withheld: they are shown with the text, and dropped with it. */
export class LogprobQueue {
  readonly #waiting: TokenLogprob[] = [];
  /** Characters shown that no token taken so far accounts for. */
  #surplus = 0;

  push(logprobs: readonly TokenLogprob[]): void {
    this.#waiting.push(...logprobs);
  }

  /**
   * The tokens that lie wholly in the text shown so far. Lengths tell only while there is `more` that is not shown:
   * a token that is part of a character has no length.
   */
  take(text: string, more: boolean): TokenLogprob[] {
    if (!more) return this.rest();
    let room = this.#surplus + text.length;
    let count = 0;
    for (const { token } of this.#waiting) {
      if (token.length > room) break;
      room -= token.length;
      count += 1;
    }
    this.#surplus = room;
    return this.#waiting.splice(0, count);
  }

  rest(): TokenLogprob[] {
    this.#surplus = 0;
    return this.#waiting.splice(0);
  }
}
