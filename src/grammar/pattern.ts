import { isRegExp } from './check-schema.ts';
import { ANY, complement, intersection, normalized, type Ranges } from './code-points.ts';
import type { Language, Languages } from './language.ts';

/** Error for a pattern with syntax that is not regular, or that this parser does not support. */
export class UnknownPatternError extends Error {}

type Node =
  | { kind: 'set'; ranges: Ranges }
  | { kind: 'sequence' | 'or'; parts: Node[] }
  | { kind: 'repeat'; of: Node; min: number; max: number }
  | { kind: 'look'; of: Node; negative: boolean }
  | { kind: 'begin' | 'end' };

type Anchors = readonly ('begin' | 'end' | undefined)[];

const MAX_CHARACTERS = 4096;
const MAX_NESTING = 64;
/** Maximum look-aheads; each may double the states of the automaton. */
const MAX_LOOKS = 8;
const MAX_REPEATS = 10_000;

/**
 * Words in which a regular expression of JSON Schema finds a match.
 * @throws UnknownPatternError, TooCostlyError
 */
export function patternLanguage(languages: Languages, pattern: string): Language {
  const { all } = languages;
  const tree = new PatternParser(languages, pattern).parse();
  return languages.sequence(all, translate(languages, tree, all));
}

/**
 * Language that `node` matches, followed by `rest`: a look-ahead restricts what follows.
 * @param beside anchors between which and the node nothing lies: they match there again
 */
function translate(languages: Languages, node: Node, rest: Language, beside: Anchors = []): Language {
  const { all, and, empty, not, or, sequence, set } = languages;
  switch (node.kind) {
    case 'begin':
    case 'end':
      return beside.includes(node.kind) ? rest : sequence(languages[node.kind], rest);
    case 'set':
      return sequence(set(node.ranges), rest);
    case 'sequence': {
      const begun = besideParts(node.parts, 'begin', beside);
      const ending = besideParts(node.parts.toReversed(), 'end', beside).toReversed();
      const join = (after: Language, part: Node, i: number) =>
        translate(languages, part, after, [begun[i], ending[i]]);
      return node.parts.reduceRight(join, rest);
    }
    case 'or': {
      const join = (after: Language) =>
        or(...node.parts.map((part) => translate(languages, part, after, beside)));
      return hasLook(node) ? join(rest) : sequence(join(empty), rest);
    }
    case 'look': {
      const ahead = translate(languages, node.of, all, beside);
      return and(node.negative ? not(ahead) : ahead, rest);
    }
    case 'repeat':
      return translateRepeat(languages, node, rest);
  }
}

function translateRepeat(
  languages: Languages,
  { of, min, max }: Extract<Node, { kind: 'repeat' }>,
  rest: Language,
): Language {
  const { empty, or, repeat, sequence } = languages;
  if (!hasLook(of)) return sequence(repeat(translate(languages, of, empty), min, max), rest);
  if (max > 1) throw new UnknownPatternError('has a look-ahead within a repetition');
  const once = translate(languages, of, rest);
  return min === 1 ? once : or(rest, once);
}

/** The anchor before each part, if nothing but look-aheads lies between them. */
function besideParts(parts: readonly Node[], anchor: 'begin' | 'end', beside: Anchors): Anchors {
  let last = beside.find((each) => each === anchor);
  return parts.map(({ kind }) => {
    const before = last;
    last = kind === anchor || (last && kind === 'look') ? anchor : undefined;
    return before;
  });
}

function hasLook(node: Node): boolean {
  if ('parts' in node) return node.parts.some(hasLook);
  return node.kind === 'look' || (node.kind === 'repeat' && hasLook(node.of));
}

const rangesOf = (characters: string): Ranges =>
  normalized([...characters].flatMap((character) => one(character.charCodeAt(0))));

const one = (point: number): Ranges => [point, point];

const DIGIT: Ranges = [0x30, 0x39];
const WORD: Ranges = normalized([0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]);
/** White space of JavaScript's `\s`, which has Unicode's spaces and both marks of line ends. */
const SPACE: Ranges = rangesOf(
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
);
const LINE_ENDS: Ranges = [0x0a, 0x0a, 0x0d, 0x0d, 0x2028, 0x2029];

const SHORTHANDS: Record<string, Ranges> = { d: DIGIT, w: WORD, s: SPACE };
const CONTROLS: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

/** The syntax of JavaScript's regular expressions with the flag `u`. */
class PatternParser {
  readonly #languages: Languages;
  readonly #pattern: string;
  #at = 0;
  #depth = 0;
  #looks = 0;
  /** Whether a class has a `[` that is not escaped. */
  #nests = false;

  constructor(languages: Languages, pattern: string) {
    this.#languages = languages;
    if (pattern.length > MAX_CHARACTERS)
      throw new UnknownPatternError(`has more than ${MAX_CHARACTERS} characters`);
    if (!isRegExp(pattern)) throw new UnknownPatternError('is not a regular expression');
    this.#pattern = pattern;
  }

  #take(text: string): boolean {
    if (!this.#pattern.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#pattern);
    if (found) this.#at += found[0].length;
    return found;
  }

  #point(): number {
    const point = this.#pattern.codePointAt(this.#at) ?? 0;
    this.#at += point > 0xffff ? 2 : 1;
    return point;
  }

  parse(): Node {
    if (++this.#depth > MAX_NESTING) throw new UnknownPatternError('is nested too deeply');
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    this.#depth--;
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'or', parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#at < this.#pattern.length && !/[|)]/.test(this.#pattern.charAt(this.#at)))
      parts.push(this.#quantified(this.#atom()));
    return { kind: 'sequence', parts };
  }

  #quantified(of: Node): Node {
    const found = this.#match(/(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y);
    if (!found) return of;
    const [text, low, comma, high] = found;
    const [min, max] =
      low !== undefined
        ? [Number(low), comma === undefined ? Number(low) : high ? Number(high) : Infinity]
        : [text.startsWith('+') ? 1 : 0, text.startsWith('?') ? 1 : Infinity];
    if (min > MAX_REPEATS || (max !== Infinity && max > MAX_REPEATS))
      throw new UnknownPatternError(`repeats more than ${MAX_REPEATS} times`);
    return { kind: 'repeat', of, min, max };
  }

  #atom(): Node {
    // Python's and Rust's anchors, too: clients write their patterns there.
    if (this.#match(/\^|\\A/y)) return { kind: 'begin' };
    if (this.#match(/\$|\\z/iy)) return { kind: 'end' };
    if (this.#take('.')) return { kind: 'set', ranges: complement(LINE_ENDS) };
    if (this.#take('[')) return { kind: 'set', ranges: this.#class() };
    if (this.#take('(')) return this.#group();
    // Rust's and POSIX's `[[:alpha:]]` and `[a[bc]]`: JavaScript reads the second `]` as a letter.
    if (this.#nests && this.#pattern.charAt(this.#at) === ']')
      throw new UnknownPatternError('has a class within a class');
    return { kind: 'set', ranges: this.#take('\\') ? this.#escape(false) : one(this.#point()) };
  }

  #group(): Node {
    const look = this.#match(/\?([=!])/y);
    if (look && ++this.#looks > MAX_LOOKS) throw new UnknownPatternError('has too many look-aheads');
    if (!look && !this.#match(/\?(?::|P?<[^=!][^>]*>)/y) && this.#pattern.charAt(this.#at) === '?')
      throw new UnknownPatternError('has a look-behind or a flag');
    const of = this.parse();
    this.#take(')');
    return look ? { kind: 'look', of, negative: look[1] === '!' } : of;
  }

  #class(): Ranges {
    const negative = this.#take('^');
    const ranges: number[] = [];
    while (!this.#take(']')) {
      const first = this.#member();
      const isRange = /-[^\]]/y;
      isRange.lastIndex = this.#at;
      if (first.length !== 2 || first[0] !== first[1] || !isRange.test(this.#pattern)) ranges.push(...first);
      else {
        this.#take('-');
        const last = this.#member();
        if (last.length === 2 && last[0] === last[1]) ranges.push(first[0] ?? 0, last[0] ?? 0);
        else ranges.push(...first, 0x2d, 0x2d, ...last);
      }
    }
    const sorted = intersection(normalized(ranges), ANY);
    return negative ? complement(sorted) : sorted;
  }

  #member(): Ranges {
    this.#nests ||= this.#pattern.charAt(this.#at) === '[';
    return this.#take('\\') ? this.#escape(true) : one(this.#point());
  }

  #escape(inClass: boolean): Ranges {
    const hex = this.#match(/x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]+)\}/iy);
    if (hex) return this.#codeUnit(Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? '', 16));
    const property = this.#match(/([pP])\{([^}]*)\}/y);
    if (property) {
      const ranges = this.#languages.property(property[2] ?? '');
      return property[1] === 'P' ? complement(ranges) : ranges;
    }
    const control = this.#match(/c([A-Za-z])/y);
    if (control) return one((control[1] ?? '').charCodeAt(0) % 32);
    return this.#escapedCharacter(inClass);
  }

  #escapedCharacter(inClass: boolean): Ranges {
    const point = this.#point();
    const letter = String.fromCodePoint(point);
    const shorthand = SHORTHANDS[letter.toLowerCase()];
    if (shorthand) return letter in SHORTHANDS ? shorthand : complement(shorthand);
    if (letter === 'b' && inClass) return one(8);
    // Other letters are literal in old JavaScript, and something else in every other language.
    if (!(letter in CONTROLS) && /[a-z1-9]/i.test(letter)) throw new UnknownPatternError(`uses \\${letter}`);
    return one(CONTROLS[letter] ?? point);
  }

  /** Joins the two halves of a surrogate pair. */
  #codeUnit(unit: number): Ranges {
    if (unit < 0xd800 || unit > 0xdbff) return one(unit);
    const low = this.#match(/\\u(d[c-f][\da-f]{2})/iy);
    if (!low) return one(unit);
    return one(0x10000 + ((unit - 0xd800) << 10) + (Number.parseInt(low[1] ?? '', 16) - 0xdc00));
  }
}
