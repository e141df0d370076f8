import type { Decoder } from './decoder.ts';

/** Tokens before the reply that are decoded along: at a text's start, some tokenizers leave out a space. */
const CONTEXT_TOKENS = 6;

/** Turns a reply's tokens into text as they come. */
export class Detokenizer {
  readonly #decode: Decoder['decode'];
  /** The last tokens whose text is out, and those after them. */
  #window: number[];
  /** How many of the window's have their text out. */
  #shown: number;

  constructor(decode: Decoder['decode'], prompt: readonly number[]) {
    this.#decode = decode;
    this.#window = prompt.slice(-CONTEXT_TOKENS);
    this.#shown = this.#window.length;
  }

  /** @returns the text that is new; '' while a character is not whole */
  push(id: number): string {
    this.#window.push(id);
    const text = this.#fresh();
    if (text.endsWith('\uFFFD')) return '';
    this.#window = this.#window.slice(this.#shown);
    this.#shown = this.#window.length;
    return text;
  }

  /** What was held back, as far as it is whole. */
  end(): string {
    return this.#fresh().replace(/\uFFFD+$/, '');
  }

  #fresh(): string {
    const before = this.#decode(this.#window.slice(0, this.#shown));
    return this.#decode(this.#window).slice(before.length);
  }
}
