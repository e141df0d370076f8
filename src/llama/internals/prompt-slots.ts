/**
 * Predicts and controls what llama.cpp's server does with prompt states, which it does not report.
 *
 * @remarks
 * - Relies on: the server's rule for the slot of a prompt; that an empty prompt saves the state of the slot it gets.
 * - Read in: @wllama/wllama 3.13.0 (llama.cpp b12211), `get_available_slot()`.
 * - Notices: it does not.
 * - Then: predictions are wrong. Prompts are recomputed although their state could be copied; replies stay the same.
 */
import { POLICY, sharedLength } from '#scheduling';
import type { ServerCalls } from './server-calls.ts';

export interface Slot {
  /** Prompt and reply whose state the slot holds. */
  text: string;
  usedAt: number;
  busy: boolean;
}

/** llama.cpp's threshold: if a slot shares a smaller fraction of the prompt, the server takes the least recently used slot. */
const SIMILAR = 0.1;
/** Maximum number of saved states to track. llama.cpp drops the oldest when memory is short. */
const MAX_SAVED = 64;

/**
 * Predicts which slot llama.cpp's server picks for a prompt; the server does not report it. The server takes the
 * idle slot with the longest common prefix. If none is similar, it takes an empty slot, else the least recently used one,
 * saves that slot's state and restores the best saved one. Characters approximate tokens.
 */
export class SlotPredictor {
  readonly #slots: Slot[];
  #saved: string[] = [];
  #uses = 0;

  constructor(slots: number) {
    this.#slots = Array.from({ length: slots }, () => ({ text: '', usedAt: 0, busy: false }));
  }

  get idle(): number {
    return this.#idle().length;
  }

  holds(text: string): boolean {
    return this.#slots.some((slot) => slot.text === text);
  }

  /** Number of idle slots without a state. */
  get empty(): number {
    return this.#idle().filter(({ text }) => text === '').length;
  }

  /** Characters of this prompt that are in no idle slot and no saved state. */
  uncached(prompt: string): number {
    const texts = [...this.#idle().map(({ text }) => text), ...this.#saved];
    return prompt.length - Math.max(0, ...texts.map((text) => sharedLength(text, prompt)));
  }

  /** Characters of another prompt's state that the server would drop for this prompt. */
  wouldEvict(prompt: string): number {
    const slot = this.#similar(prompt);
    return slot && !this.#saved.includes(slot.text) ? slot.text.length - sharedLength(slot.text, prompt) : 0;
  }

  /** Characters of this prompt that a saved state holds beyond the slot that the server would pick. */
  wouldReuse(prompt: string): number {
    const slot = this.#similar(prompt);
    if (!slot) return 0;
    return (
      Math.max(0, ...this.#saved.map((text) => sharedLength(text, prompt))) - sharedLength(slot.text, prompt)
    );
  }

  /** Marks the slot that the server picks for a prompt as busy. */
  take(prompt: string): Slot {
    const similar = this.#similar(prompt);
    const slot = similar ?? this.#leastRecent();
    if (!similar) {
      this.#save(slot.text);
      const best = this.#saved.reduce(
        (a, b) => (sharedLength(b, prompt) > sharedLength(a, prompt) ? b : a),
        '',
      );
      this.#saved = this.#saved.filter((text) => text !== best);
    }
    slot.busy = true;
    slot.text = prompt;
    return slot;
  }

  release(slot: Slot, text: string): void {
    slot.busy = false;
    slot.text = text;
    slot.usedAt = ++this.#uses;
  }

  /** Records that all idle slots have been saved. */
  copied(): void {
    for (const { text } of this.#idle()) this.#save(text);
  }

  #save(text: string): void {
    if (!text || this.#saved.includes(text)) return;
    this.#saved = [...this.#saved.filter((each) => !text.startsWith(each)), text].slice(-MAX_SAVED);
  }

  #similar(prompt: string): Slot | undefined {
    const [best] = this.#idle()
      .map((slot) => ({ slot, common: sharedLength(slot.text, prompt) }))
      .toSorted((a, b) => b.common - a.common);
    return best && best.common > SIMILAR * prompt.length ? best.slot : undefined;
  }

  #leastRecent(): Slot {
    // An empty slot was never used.
    const [first] = this.#idle().toSorted((a, b) => a.usedAt - b.usedAt);
    if (!first) throw new Error('no slot is idle');
    return first;
  }

  #idle(): Slot[] {
    return this.#slots.filter(({ busy }) => !busy);
  }
}

/** Prompts of one token each, which evict the slots' states. */
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/** Prefix of a text that is tokenized without the BOS token that the tokenizer adds (tools/kernels/server.h). */
export const BARE = '\uFDEF\uFDEE';

/**
 * Saves and restores the prompt states of llama.cpp's slots with requests that cost almost nothing, as
 * docs/decisions/wllama-settings.md explains.
 * @param prefix `BARE` if the tokenizer adds a BOS token
 * @param clear puts aside prompts that fill whole steps: a request would wait for all of them
 */
export function slotStates(
  calls: ServerCalls,
  slots: SlotPredictor,
  prefix: '' | typeof BARE,
  clear: () => Promise<void>,
) {
  /**
   * Saves the states of all idle slots; the slots keep them. An empty prompt saves the least recently used slot, once no
   * slot is empty.
   */
  async function copy(): Promise<void> {
    await clear();
    await fill(slots.empty);
    await run(Array.from({ length: slots.idle }, () => ''));
    slots.copied();
  }

  /** Evicts the states of all idle slots, so that the server restores the saved state that fits best. */
  async function park(): Promise<void> {
    await clear();
    await fill(slots.idle);
  }

  /** Evicts the states of slots that are empty or were used least recently. */
  async function fill(count: number): Promise<void> {
    const letters = [...LETTERS].filter((each) => !slots.holds(each)).slice(0, count);
    const taken = letters.map((letter) => ({ letter, slot: slots.take(letter) }));
    await run(letters);
    for (const { letter, slot } of taken) slots.release(slot, letter);
  }

  /** Runs prompts in one step, each in a separate slot. */
  async function run(texts: readonly string[]): Promise<void> {
    const ids: number[] = [];
    for (const text of texts)
      ids.push(await calls.begin({ prompt: prefix + text, n_predict: 0, cache_prompt: true }));
    for (const id of ids)
      for (let more = true; more;) ({ more } = (await calls.take(id)) ?? (await calls.step(id)));
  }

  return {
    /** Makes a prompt's saved state available, or saves a state that it would evict. Called before the prompt begins. */
    async keepBefore(prompt: string): Promise<void> {
      if (slots.wouldReuse(prompt) >= POLICY.prompt.keeping) await park();
      else if (slots.wouldEvict(prompt) >= POLICY.prompt.keeping) await copy();
    },
    copy,
  };
}
