import { entriesOf, ExactNumber, fromEntries } from '#base';

/**
 * Noncharacters, which stand for characters of clients' texts while a template renders. A client's own become U+FFFD.
 * A vocabulary whose tokens need more also has private-use characters as marks.
 */
const FIRST_MARK = 0xfdd0;
const MARKS = 31;
const FIRST_MORE = 0xf000;
const MORE = 0x8ff;
const MARK = /[\uFDD0-\uFDEF]/g;
/** All marks, as a part of a regular expression's class. */
export const ALL_MARKS = String.raw`\uFDD0-\uFDEF\uF000-\uF8FF`;
const MARK_OR_MORE = new RegExp(`[${ALL_MARKS}]`, 'g');

const markAt = (index: number): string =>
  String.fromCharCode(index < MARKS ? FIRST_MARK + index : FIRST_MORE + index - MARKS);

const indexOf = (mark: string): number => {
  const code = mark.charCodeAt(0);
  return code >= FIRST_MARK ? code - FIRST_MARK : code - FIRST_MORE + MARKS;
};

/** Characters that templates compare, count or change. They are marked only in a token that has no others. */
const WORD = /[\p{L}\p{N}_]/u;
const NEVER_MARKED = /[\s"'\\]/;

/**
 * Texts that engines treat as control tokens even if the vocabulary does not mark them so (llama.cpp's
 * `llama_vocab::impl::load`).
 */
const CONTROL_TOKEN =
  /^(<[|｜].+>|<.+[|｜]>|_?<EOT>|<(PRE|SUF|MID|PAD|REPO|reponame|eos|\/s|start_of_turn|end_of_(turn|utterance)|fim[-_]\w+)>|\[(EOT|EOS|PAD|e~)[\][])$/s;
export const isControlToken = (text: string): boolean => CONTROL_TOKEN.test(text);

/**
 * Whether a token may mark turns although no file calls it special: it is a word in brackets, such as `<AI>` or
 * `[|user|]`. Signs alone, such as `###` or `---`, are Markdown.
 */
export const isBracketed = (text: string): boolean =>
  /^(?=.*[\p{L}\p{N}])[^\p{L}\p{N}_\s▁].*[^\p{L}\p{N}_\s▁]$/su.test(text);

/** Longer texts are no special tokens, whatever a file says. */
const MAX_TOKEN = 256;
const REPLACEMENT = '\uFFFD';
/** Spaces of other widths, and the characters after them. */
const FIRST_SPACE = 0x2000;
const FIRST_SURROGATE = 0xd800;

/** Special tokens by their characters: all that begin at a place are found in one walk. */
interface TokenTree {
  next: Map<number, TokenTree>;
  /** The token that ends here. */
  token?: string;
}

/** Each takes about 250 bytes. 30,000 numbered tokens, as of models that speak, have 60,000. */
const MAX_BRANCHES = 2 ** 18;

/** @throws Error for a vocabulary that no model has */
function treeOf(tokens: Iterable<string>): TokenTree {
  const root: TokenTree = { next: new Map() };
  let branches = 0;
  for (const token of tokens) {
    let tree = root;
    for (let at = 0; at < token.length; at++) {
      const code = token.charCodeAt(at);
      const next = tree.next.get(code) ?? { next: new Map() };
      if (!tree.next.has(code) && ++branches > MAX_BRANCHES)
        throw new Error('its vocabulary has too many special tokens');
      tree.next.set(code, next);
      tree = next;
    }
    tree.token = token;
  }
  return root;
}

/** A space, or another character that is in no token: what is broken then contains no other token. */
function breakFor(tokens: Iterable<string>): string {
  const used = new Set<string>();
  for (const token of tokens) for (const character of token) used.add(character);
  if (!used.has(' ')) return ' ';
  for (let code = FIRST_SPACE; code < FIRST_SURROGATE; code++)
    if (!used.has(String.fromCharCode(code))) return String.fromCharCode(code);
  throw new Error('its vocabulary has all characters in special tokens');
}

/**
 * Keeps clients' texts from becoming special tokens. Tokenizers search a prompt for the texts of their special tokens,
 * also in a client's text. So a client's text is marked before a template renders it, and each special token of the prompt
 * that has a marked character gets a space.
 */
export class ClientText {
  readonly #tokens: TokenTree;
  readonly #longest: number;
  readonly #break: string;
  /** Marks by character. A token of one character, or of emojis alone, cannot be broken: it has a replacement. */
  readonly #marks = new Map<string, string>();
  readonly #characters: string[] = [];
  readonly #mark: RegExp = MARK;
  readonly #isNormalized: boolean;

  /**
   * @param tokens texts of the special tokens
   * @param isNormalized whether the tokenizer finds them in NFKC, where `＜` is `<`
   */
  constructor(tokens: readonly string[], isNormalized = false) {
    this.#isNormalized = isNormalized;
    const known = new Set(tokens.filter(({ length }) => length > 0 && length <= MAX_TOKEN));
    this.#tokens = treeOf(known);
    this.#break = breakFor(known);
    this.#longest = [...known].reduce((longest, { length }) => Math.max(longest, length), 1);
    const others: string[] = [];
    for (const token of known) {
      const [character, ...rest] = markable(token);
      if (character !== undefined) this.#addMark(character, MARKS + MORE);
      others.push(...rest);
      const replaced = [...token].length === 1 ? token : character === undefined && largeIn(token);
      if (replaced) this.#marks.set(replaced, REPLACEMENT.repeat(replaced.length));
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

  /** Marks a client's text, and replaces lone surrogates, which engines cannot take. Its length stays, but for NFKC. */
  mark(text: string): string {
    const normal = this.#isNormalized ? text.normalize('NFKC') : text;
    const own = normal.toWellFormed().replace(this.#mark, REPLACEMENT);
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
    // A template may cut a text inside a character.
    const plain = this.plain(marked).toWellFormed();
    if (marked === plain) return plain;
    const places = this.#findBreaks(marked, plain, allowed);
    return [0, ...places].map((from, index) => plain.slice(from, places[index])).join(this.#break);
  }

  /** Finds the places of breaks, in order. A token that is the template's alone is never broken. */
  #findBreaks(marked: string, plain: string, allowed: ReadonlySet<string>): number[] {
    const places = new Set<number>();
    // Backwards, so that the next marked character is known.
    let nextMarked = Infinity;
    for (let start = plain.length - 1; start >= 0; start--) {
      if (marked.charCodeAt(start) !== plain.charCodeAt(start)) nextMarked = start;
      const place = Math.max(start + 1, nextMarked);
      let tree = this.#tokens.next.get(plain.charCodeAt(start));
      for (let end = start + 1; tree; tree = tree.next.get(plain.charCodeAt(end++)))
        if (place < end && tree.token !== undefined && !allowed.has(tree.token)) places.add(place);
    }
    return [...places].toSorted((a, b) => a - b);
  }
}

/** The first character of two units, such as an emoji. */
const largeIn = (token: string): string | undefined => [...token].find(({ length }) => length > 1);

/** Characters of a token to mark, of one unit each. */
function markable(token: string): string[] {
  const characters = [...token].filter((each) => each.length === 1 && !NEVER_MARKED.test(each));
  const signs = characters.filter((each) => !WORD.test(each));
  return signs.length > 0 ? signs : characters.slice(0, 1);
}
