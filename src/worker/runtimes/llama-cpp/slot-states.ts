import type { SlotPredictor } from './slot-predictor.ts';
import type { ServerCalls } from './server-calls.ts';

/** Characters of a state that are worth a few milliseconds to keep; about a second's computing. */
export const WORTH_KEEPING = 200;
/** Single tokens, to push states out of the slots. */
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/**
 * Copies and keeps what llama.cpp's slots hold of prompts, by requests that cost next to nothing: how is in
 * docs/decisions/wllama-settings.md. For models alone whose empty prompt has no tokens.
 */
export class SlotStates {
  readonly #calls: ServerCalls;
  readonly #slots: SlotPredictor;

  constructor(calls: ServerCalls, slots: SlotPredictor) {
    this.#calls = calls;
    this.#slots = slots;
  }

  /** Before a prompt begins: makes its saved state available, and saves states that it would evict. */
  async keepBefore(prompt: string): Promise<void> {
    if (this.#slots.wouldReuse(prompt) >= WORTH_KEEPING) await this.#park();
    else if (this.#slots.wouldEvict(prompt) >= WORTH_KEEPING) await this.copy();
  }

  /** Saves the states of all idle slots, which keep them. An empty prompt saves the least recently used one. */
  async copy(): Promise<void> {
    for (let count = this.#slots.idle; count > 0; count--) await this.#runEmpty('');
    this.#slots.copied();
  }

  /** Evicts the states of all idle slots, so that the server restores the saved state that fits best. */
  async #park(): Promise<void> {
    for (let count = this.#slots.idle; count > 0; count--) {
      const letter = [...LETTERS].find((each) => !this.#slots.holds(each)) ?? '';
      const slot = this.#slots.take(letter);
      await this.#runEmpty(letter);
      this.#slots.release(slot, letter);
    }
  }

  async #runEmpty(prompt: string): Promise<void> {
    const id = await this.#calls.begin({ prompt, n_predict: 0, cache_prompt: true });
    for (let more = true; more;) ({ more } = await this.#calls.step(id));
  }
}
