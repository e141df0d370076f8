import { entriesOf, ExactNumber, fromEntries } from '#base';

/**
 * Noncharacters, which stand for characters of callers' texts while a template renders. A caller's own become U+FFFD.
 * A vocabulary whose tokens need more also has private-use characters as marks.
 */
const FIRST_MARK = 0xfdd0;
const MARKS = 31;
const FIRST_MORE = 0xf000;
const MORE = 0x8ff;
const MARK = /[\uFDD0-\uFDEF]/g;
const MARK_OR_MORE = /[\uFDD0-\uFDEF\uF000-\uF8FF]/g;

const markAt = (index: number): string =>
  String.fromCharCode(index < MARKS ? FIRST_MARK + index : FIRST_MORE + index - MARKS);

const indexOf = (mark: string): number => {
  const code = mark.charCodeAt(0);
  return code >= FIRST_MARK ? code - FIRST_MARK : code - FIRST_MORE + MARKS;
};

/** Characters that templates compare, count or change. They are marked only in a token that has no others. */
const WORD = /[\p{L}\p{N}_]/u;
const NEVER_MARKED = /[\s"'\\]/;

/** Texts that engines treat as control tokens even if the vocabulary does not mark them so. */
const CONTROL_TOKEN = /^<[|｜].+[|｜]>$|^<(EOT|start_of_turn|end_of_(turn|utterance)|fim[-_]\w+)>$/s;
export const isControlToken = (text: string): boolean => CONTROL_TOKEN.test(text);

/** Longer texts are no special tokens, whatever a file says. */
const MAX_TOKEN = 256;
const BREAK = ' ';
const REPLACEMENT = '\uFFFD';

/**
 * Keeps callers' texts from becoming special tokens. Tokenizers search a prompt for the texts of their special tokens,
 * also in a caller's text. So a caller's text is marked before a template renders it, and each special token of the prompt
 * that has a marked character gets a space.
 */
export class CallerText {
  readonly #tokens: ReadonlySet<string>;
  /** Lengths of the tokens by their first character. */
  readonly #lengths = new Map<string, Set<number>>();
  readonly #longest: number;
  /** Marks by character. A token of one character cannot be broken: it has a replacement. */
  readonly #marks = new Map<string, string>();
  readonly #characters: string[] = [];
  readonly #mark: RegExp = MARK;

  /** @param tokens texts of the special tokens */
  constructor(tokens: readonly string[]) {
    this.#tokens = new Set(tokens.filter(({ length }) => length > 0 && length <= MAX_TOKEN));
    this.#longest = Math.max(1, ...[...this.#tokens].map(({ length }) => length));
    const others: string[] = [];
    for (const token of this.#tokens) {
      const first = token.charAt(0);
      this.#lengths.set(first, (this.#lengths.get(first) ?? new Set()).add(token.length));
      const [character, ...rest] = markable(token);
      if (character !== undefined) this.#addMark(character, MARKS + MORE);
      others.push(...rest);
      if ([...token].length === 1) this.#marks.set(token, REPLACEMENT.repeat(token.length));
    }
    // Each token has a mark before any has a second one.
    for (const character of others) this.#addMark(character, MARKS);
    if (this.#characters.length > MARKS) this.#mark = MARK_OR_MORE;
  }

  #addMark(character: string, most: number): void {
    if (this.#marks.has(character) || this.#characters.length >= most) return;
    this.#marks.set(character, markAt(this.#characters.length));
    this.#characters.push(character);
  }

  /** Marks a caller's text. Its length stays. */
  mark(text: string): string {
    const own = text.replace(this.#mark, REPLACEMENT);
    return this.#marks.size === 0
      ? own
      : own.replace(/\S/gu, (character) => this.#marks.get(character) ?? character);
  }

  /** Marks all texts of a JSON value, keys included. */
  markAll(value: unknown): unknown {
    if (typeof value === 'string') return this.mark(value);
    if (Array.isArray(value)) return value.map((item) => this.markAll(item));
    if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value;
    return fromEntries(
      entriesOf(value as Record<string, unknown>).map(([key, item]) => [this.mark(key), this.markAll(item)]),
    );
  }

  /** Removes the marks. The length stays. */
  readonly plain = (text: string): string =>
    text.replace(this.#mark, (mark) => this.#characters[indexOf(mark)] ?? mark);

  /** Removes the marks of a rendered prompt, and breaks the special tokens in which they are. */
  broken(marked: string): string {
    return this.#broken(marked, new Set());
  }

  /**
   * Appends a text that was not rendered.
   * @param allowed special tokens that the text may contain
   */
  append(prompt: string, text: string, allowed: readonly string[] = []): string {
    // A token may begin in the prompt.
    const before = prompt
      .slice(Math.max(0, prompt.length - this.#longest + 1))
      .replace(this.#mark, REPLACEMENT);
    return prompt + this.#broken(before + this.mark(text), new Set(allowed)).slice(before.length);
  }

  #broken(marked: string, allowed: ReadonlySet<string>): string {
    for (let text = marked; ;) {
      const plain = this.plain(text);
      const places = text === plain ? [] : this.#findBreaks(text, plain, allowed);
      if (places.length === 0) return plain;
      // What is broken may be another token.
      text = [0, ...places].map((from, index) => text.slice(from, places[index])).join(BREAK);
    }
  }

  /** Finds the places of breaks, in order. A token that is the template's alone is never broken. */
  #findBreaks(marked: string, plain: string, allowed: ReadonlySet<string>): number[] {
    const places = new Set<number>();
    const isMarked = (at: number): boolean => marked.charCodeAt(at) !== plain.charCodeAt(at);
    for (let start = 0; start < plain.length; start++)
      for (const length of this.#lengths.get(plain.charAt(start)) ?? []) {
        const end = start + length;
        const token = plain.slice(start, end);
        if (token.length < length || !this.#tokens.has(token) || allowed.has(token)) continue;
        let place = start + 1;
        while (place < end && !isMarked(place) && !isMarked(place - 1)) place++;
        if (place < end) places.add(place);
      }
    return [...places].toSorted((a, b) => a - b);
  }
}

/** Characters of a token to mark, of one unit each. */
function markable(token: string): string[] {
  const characters = [...token].filter((each) => each.length === 1 && !NEVER_MARKED.test(each));
  const signs = characters.filter((each) => !WORD.test(each));
  return signs.length > 0 ? signs : characters.slice(0, 1);
}
