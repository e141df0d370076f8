import { SlotPredictor, type Slot } from './slot-predictor.ts';
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
  readonly #cache: SlotPredictor;

  constructor(calls: ServerCalls, slots: number) {
    this.#calls = calls;
    this.#cache = new SlotPredictor(slots);
  }

  /** Characters of this prompt that will have to be computed. */
  fresh(prompt: string): number {
    return this.#cache.fresh(prompt);
  }

  /** Before a prompt begins: sees to it that it finds what is there for it, and that others lose nothing by it. */
  async keepBefore(prompt: string): Promise<void> {
    if (this.#cache.missed(prompt) >= WORTH_KEEPING) await this.#park();
    else if (this.#cache.lost(prompt) >= WORTH_KEEPING) await this.copy();
  }

  /** The slot that llama.cpp will take for it. */
  take(prompt: string): Slot {
    return this.#cache.take(prompt);
  }

  release(slot: Slot, text: string): void {
    this.#cache.release(slot, text);
  }

  /** Saves the states of all idle slots in memory; there they stay, too. An empty prompt saves the least recently used. */
  async copy(): Promise<void> {
    for (let count = this.#cache.idle; count > 0; count--) await this.#through('');
    this.#cache.copied();
  }

  /** Moves the states of all idle slots out, so that the saved state that fits best will be taken. */
  async #park(): Promise<void> {
    for (let count = this.#cache.idle; count > 0; count--) {
      const letter = [...LETTERS].find((each) => !this.#cache.holds(each)) ?? '';
      const slot = this.#cache.take(letter);
      await this.#through(letter);
      this.#cache.release(slot, letter);
    }
  }

  async #through(prompt: string): Promise<void> {
    const id = await this.#calls.begin({ prompt, n_predict: 0, cache_prompt: true });
    for (let more = true; more;) ({ more } = await this.#calls.step(id));
  }
}
