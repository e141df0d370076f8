/**
 * Cuts a reply at the first stop sequence, also where it spans deltas. Text that may be the beginning of one is
 * withheld until that is known.
 */
export class StopSequences {
  readonly #sequences: readonly string[];
  #withheld = '';

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences;
  }

  /** Text that may be shown now; `stop`: this sequence was found, and nothing after it will be shown. */
  push(text: string): { text: string; stop: string | null } {
    if (this.#sequences.length === 0) return { text, stop: null };
    const whole = this.#withheld + text;
    let cut = -1;
    let stop: string | null = null;
    for (const sequence of this.#sequences) {
      const at = whole.indexOf(sequence);
      if (at === -1 || (cut !== -1 && at >= cut)) continue;
      cut = at;
      stop = sequence;
    }
    if (stop !== null) {
      this.#withheld = '';
      return { text: whole.slice(0, cut), stop };
    }
    const shown = whole.length - this.#undecided(whole);
    this.#withheld = whole.slice(shown);
    return { text: whole.slice(0, shown), stop: null };
  }

  /** Whether there is text that has been pushed and not shown. */
  get withholds(): boolean {
    return this.#withheld !== '';
  }

  /** The withheld text, when the reply has ended. */
  flush(): string {
    const text = this.#withheld;
    this.#withheld = '';
    return text;
  }

  /** Length of the longest end of `text` that begins a sequence. */
  #undecided(text: string): number {
    let longest = 0;
    for (const sequence of this.#sequences) {
      for (let length = Math.min(sequence.length - 1, text.length); length > longest; length--) {
        if (text[text.length - length] !== sequence[0]) continue;
        if (text.endsWith(sequence.slice(0, length))) longest = length;
      }
    }
    return longest;
  }
}
