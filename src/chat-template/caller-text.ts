import { entriesOf, ExactNumber, fromEntries } from '#base';

/**
 * Noncharacters, which stand for characters of callers' texts while a template renders. A caller's own become U+FFFD.
 */
const FIRST_MARK = 0xfdd0;
const MARKS = 31;
const MARK = /[\uFDD0-\uFDEF]/g;

/** Characters that templates compare, count or escape. A special token of these alone is not recognized. */
const UNMARKED = /[\p{L}\p{N}\s_"'\\]/u;

/** Texts that engines treat as control tokens even if the vocabulary does not mark them so. */
const CONTROL_TOKEN = /^<[|｜].+[|｜]>$|^<(\/?s|bos|eos|EOT|(start|end)_of_(turn|utterance))>$/s;
export const isControlToken = (text: string): boolean => CONTROL_TOKEN.test(text);

/** Longer texts are no special tokens, whatever a file says. */
const MAX_TOKEN = 256;
const BREAK = ' ';
const UNBREAKABLE = '\uFFFD';

/**
 * Keeps callers' texts from becoming special tokens. Tokenizers search a prompt for the texts of their special tokens,
 * whoever wrote them. So a caller's text is marked before a template renders it, and each special token of the prompt
 * that has a marked character gets a space.
 */
export class CallerText {
  readonly #tokens: ReadonlySet<string>;
  /** Lengths of the tokens by their first two characters. */
  readonly #lengths = new Map<string, Set<number>>();
  readonly #firsts: ReadonlySet<string>;
  readonly #longest: number;
  readonly #marks = new Map<string, string>();
  readonly #characters: string[] = [];

  /** @param tokens texts of the special tokens */
  constructor(tokens: readonly string[]) {
    this.#tokens = new Set(tokens.filter(({ length }) => length > 0 && length <= MAX_TOKEN));
    this.#longest = Math.max(0, ...[...this.#tokens].map(({ length }) => length));
    for (const token of this.#tokens) {
      const start = token.slice(0, 2);
      this.#lengths.set(start, (this.#lengths.get(start) ?? new Set()).add(token.length));
      for (const character of token) this.#addMark(character);
    }
    this.#firsts = new Set([...this.#lengths.keys()].map((start) => start.charAt(0)));
  }

  #addMark(character: string): void {
    if (character.length > 1 || UNMARKED.test(character)) return;
    if (this.#marks.has(character) || this.#characters.length === MARKS) return;
    this.#marks.set(character, String.fromCharCode(FIRST_MARK + this.#characters.length));
    this.#characters.push(character);
  }

  /** Marks a caller's text. Its length stays. */
  mark(text: string): string {
    const own = text.replace(MARK, UNBREAKABLE);
    return own.replace(/[^\p{L}\p{N}\s_]/gu, (character) => this.#marks.get(character) ?? character);
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
    text.replace(MARK, (mark) => this.#characters[mark.charCodeAt(0) - FIRST_MARK] ?? mark);

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
    const before = this.#longest > 1 ? prompt.slice(1 - this.#longest).replace(MARK, UNBREAKABLE) : '';
    return prompt + this.#broken(before + this.mark(text), new Set(allowed)).slice(before.length);
  }

  #broken(marked: string, allowed: ReadonlySet<string>): string {
    for (let text = marked; ;) {
      const plain = this.plain(text);
      const breaks = text === plain ? [] : this.#breaks(text, plain, allowed);
      if (breaks.length === 0) return plain;
      let at = 0;
      let broken = '';
      for (const { from, to, by } of breaks) {
        if (from < at || (from === at && at > 0)) continue;
        broken += text.slice(at, from) + by;
        at = to;
      }
      // What was broken may be another token.
      text = broken + text.slice(at);
    }
  }

  /** Finds the places to break, in order. */
  #breaks(marked: string, plain: string, allowed: ReadonlySet<string>): Break[] {
    const breaks: Break[] = [];
    for (let index = 0; index < plain.length; index++) {
      if (!this.#firsts.has(plain.charAt(index))) continue;
      for (const start of [plain.slice(index, index + 2), plain.charAt(index)])
        for (const length of this.#lengths.get(start) ?? []) {
          const end = index + length;
          const token = plain.slice(index, end);
          const isCallers = this.#tokens.has(token) && marked.slice(index, end) !== token;
          if (end <= plain.length && isCallers && !allowed.has(token))
            breaks.push(breakIn(marked, plain, index, end));
        }
    }
    return breaks.toSorted((a, b) => a.from - b.from);
  }
}

/** Replacement of a part of a text. */
interface Break {
  from: number;
  to: number;
  by: string;
}

/** Finds the first place within a token that is beside a marked character: a token of the template is never broken. */
function breakIn(marked: string, plain: string, start: number, end: number): Break {
  for (let at = start + 1; at < end; at++) {
    const isBesideMark = marked[at] !== plain[at] || marked[at - 1] !== plain[at - 1];
    if (isBesideMark) return { from: at, to: at, by: BREAK };
  }
  return { from: start, to: end, by: UNBREAKABLE };
}
