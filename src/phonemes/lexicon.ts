import { readFunctionWord } from './function-words.ts';
import { capitalized, isAlphabetic, isDecimal, own } from './letters.ts';
import { cardinal, decimal, ordinal, spelled, year } from './number-words.ts';
import type { Dialect, Entry, Words, Token } from './token.ts';
import { PRIMARY, SECONDARY, withStress } from './stress.ts';

/** What follows a word. */
export interface Context {
  /** Whether a vowel follows; null at the end of a clause. */
  vowel: boolean | null;
  /** Whether the word "to" follows. */
  to: boolean;
}

type Reading = string | null;

const CURRENCIES: Readonly<Record<string, readonly [string, string]>> = {
  $: ['dollar', 'cent'],
  '£': ['pound', 'pence'],
  '€': ['euro', 'cent'],
};
export const isCurrency = (text: string): boolean => Object.hasOwn(CURRENCIES, text);

const ORDINAL_ENDINGS = ['st', 'nd', 'rd', 'th'];
const NUMBER_ENDINGS = ['ing', "'d", 'ed', "'s", ...ORDINAL_ENDINGS, 's'];
const SYMBOLS: Readonly<Record<string, string>> = { '%': 'percent', '&': 'and', '+': 'plus', '@': 'at' };
const ADDRESS_SYMBOLS: Readonly<Record<string, string>> = { '.': 'dot', '/': 'slash' };
/** Vowels after which American English flaps a t. */
const FLAPPING = new Set('AIOWYiuæɑəɛɪɹʊʌ');

/** Stress of a word with a capital letter, and of one in capitals. */
const CAPITAL = 0.5;
const CAPITALS = 2;

function wordClass(tag: string): string {
  if (tag.startsWith('VB')) return 'VERB';
  if (tag.startsWith('NN')) return 'NOUN';
  if (tag.startsWith('ADV') || tag.startsWith('RB')) return 'ADV';
  if (tag.startsWith('ADJ') || tag.startsWith('JJ')) return 'ADJ';
  return tag;
}

/** Value of a decimal digit of any script: digits of a script lie in a row. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let before = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(code - before - 1))) before++;
  return String(before % 10);
}

const asciiDigits = (word: string): string =>
  word.replaceAll(/\p{Nd}/gu, (digit) => (isDecimal(digit) ? digit : asciiDigit(digit)));

function withS(phonemes: string): string {
  const last = phonemes.at(-1) ?? '';
  if ('ptkfθ'.includes(last)) return `${phonemes}s`;
  return `${phonemes}${'szʃʒʧʤ'.includes(last) ? 'ᵻ' : ''}z`;
}

/** Whether the reading ends with a t behind a vowel that flaps it. */
const endsFlapped = (phonemes: string): boolean =>
  phonemes.endsWith('t') && FLAPPING.has(phonemes.at(-2) ?? '');

function withD(phonemes: string): string {
  if (endsFlapped(phonemes)) return `${phonemes.slice(0, -1)}ɾᵻd`;
  if (phonemes === 't') return 'tɪd';
  const last = phonemes.at(-1) ?? '';
  if ('pkfθʃsʧ'.includes(last)) return `${phonemes}t`;
  return `${phonemes}${'dt'.includes(last) ? 'ᵻ' : ''}d`;
}

const withIng = (phonemes: string): string =>
  endsFlapped(phonemes) ? `${phonemes.slice(0, -1)}ɾɪŋ` : `${phonemes}ɪŋ`;

interface Ending {
  /** Stems that a word may have, the likeliest first; none if it has another ending. */
  stems(word: string): string[];
  read(phonemes: string): string;
  /** Stress of a word without another. */
  least?: number;
}

const some = (stems: readonly (string | false)[]): string[] => stems.filter((stem) => stem !== false);

const ENDINGS: readonly Ending[] = [
  {
    stems: (word) =>
      some([
        /..s$/.test(word) && !word.endsWith('ss') && word.slice(0, -1),
        (/.'s$/.test(word) || (/...es$/.test(word) && !word.endsWith('ies'))) && word.slice(0, -2),
        /..ies$/.test(word) && `${word.slice(0, -3)}y`,
      ]),
    read: withS,
  },
  {
    stems: (word) =>
      some([
        /...d$/.test(word) && !word.endsWith('dd') && word.slice(0, -1),
        /...ed$/.test(word) && !word.endsWith('eed') && word.slice(0, -2),
      ]),
    read: withD,
  },
  {
    stems: (word) =>
      some([
        /...ing$/.test(word) && word.slice(0, -3),
        /..ing$/.test(word) && `${word.slice(0, -3)}e`,
        /.([bcdgklmnprstvxz])\1ing$|.cking$/.test(word) && word.slice(0, -4),
      ]),
    read: withIng,
    least: CAPITAL,
  },
];

/** A dictionary in which "word" also answers for "Word", and the other way round. */
function find(words: Words, word: string): Entry | undefined {
  const entry = own(words, word);
  if (entry !== undefined || word.length < 2) return entry;
  const lower = word.toLowerCase();
  if (word === lower) return own(words, capitalized(word));
  return word === capitalized(lower) ? own(words, lower) : undefined;
}

/** Reads words and numbers by a dictionary and by rules for endings. */
export class Lexicon {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** @returns null for a word that neither dictionary nor rules know */
  read(token: Token, context: Context): Reading {
    const word = asciiDigits((token.alias ?? token.text).replaceAll(/[‘’]/g, "'").normalize('NFKC'));
    const stress = word === word.toLowerCase() ? null : word === word.toUpperCase() ? CAPITALS : CAPITAL;
    const phonemes = this.#word(word, token.tag, stress, context);
    if (phonemes !== null) return this.#withCurrency(phonemes, token.currency);
    return isNumber(word, token.isHead) ? this.number(word, token.currency, token.isHead) : null;
  }

  #gold(word: string): Entry | undefined {
    return find(this.#dialect.gold, word);
  }

  #goldText(word: string): Reading {
    const entry = this.#gold(word);
    return typeof entry === 'string' ? entry : (entry?.['DEFAULT'] ?? null);
  }

  #isListed(word: string): boolean {
    return this.#gold(word) !== undefined || find(this.#dialect.silver, word) !== undefined;
  }

  /** Letter by letter. */
  #letters(word: string): Reading {
    const letters = Array.from(word)
      .filter(isAlphabetic)
      .map((c) => this.#goldText(c.toUpperCase()));
    if (letters.includes(null)) return null;
    const phonemes = withStress(letters.join(''), 0);
    const last = phonemes.lastIndexOf(SECONDARY);
    return last < 0 ? phonemes : phonemes.slice(0, last) + PRIMARY + phonemes.slice(last + 1);
  }

  #special(word: string, tag: string, stress: number | null, context: Context): Reading {
    const symbol = tag === 'ADD' ? own(ADDRESS_SYMBOLS, word) : undefined;
    if (symbol !== undefined) return this.#lookup(symbol, '', -0.5, context);
    const named = own(SYMBOLS, word);
    if (named !== undefined) return this.#lookup(named, '', null, context);
    if (isInitials(word)) return this.#letters(word);
    if (tag === 'IN' && /^vs\.?$/i.test(word)) return this.#lookup('versus', '', null, context);
    return readFunctionWord(
      { word, tag, stress, ...context },
      { letters: (each) => this.#letters(each), listed: (each) => this.#gold(each) },
    );
  }

  #isKnown(word: string): boolean {
    if (this.#isListed(word) || Object.hasOwn(SYMBOLS, word)) return true;
    if (!/^[A-Za-z]+$/.test(word)) return false;
    if (word.length === 1) return true;
    if (word === word.toUpperCase() && this.#gold(word.toLowerCase()) !== undefined) return true;
    return word.slice(1) === word.slice(1).toUpperCase();
  }

  #lookup(written: string, tag: string, stress: number | null, context: Context | null): Reading {
    let word = written;
    let isName = false;
    if (word === word.toUpperCase() && this.#gold(word) === undefined) {
      word = word.toLowerCase();
      isName = tag === 'NNP';
    }
    const entry = this.#gold(word) ?? (isName ? undefined : find(this.#dialect.silver, word));
    const phonemes = typeof entry === 'object' ? byTag(entry, tag, context) : (entry ?? null);
    if (phonemes === null || (isName && !phonemes.includes(PRIMARY))) {
      const letters = this.#letters(word);
      if (letters !== null) return letters;
    }
    return phonemes === null ? null : withStress(phonemes, stress);
  }

  /** Reads a word by a stem that is known, and its ending. */
  #inflected(word: string, tag: string, stress: number | null, context: Context | null): Reading {
    for (const { stems, read, least = null } of ENDINGS) {
      const stem = stems(word).find((each) => this.#isKnown(each));
      const phonemes = stem === undefined ? null : this.#lookup(stem, tag, stress ?? least, context);
      if (phonemes) return read(phonemes);
    }
    return null;
  }

  #word(written: string, tag: string, stress: number | null, context: Context): Reading {
    const special = this.#special(written, tag, stress, context);
    if (special !== null) return special;
    const word = this.#isWordWithCapitals(written, tag, stress, context) ? written.toLowerCase() : written;
    if (this.#isKnown(word)) return this.#lookup(word, tag, stress, context);
    if (word.endsWith("s'") && this.#isKnown(`${word.slice(0, -2)}'s`))
      return this.#lookup(`${word.slice(0, -2)}'s`, tag, stress, context);
    if (word.endsWith("'") && this.#isKnown(word.slice(0, -1)))
      return this.#lookup(word.slice(0, -1), tag, stress, context);
    return this.#inflected(word, tag, stress, context);
  }

  /** Whether capitals are no part of the word: it begins a sentence, is emphasized, or is a long name. */
  #isWordWithCapitals(word: string, tag: string, stress: number | null, context: Context): boolean {
    const lower = word.toLowerCase();
    return (
      word.length > 1 &&
      isAlphabetic(word.replaceAll("'", '')) &&
      word !== lower &&
      (tag !== 'NNP' || word.length > 7) &&
      !this.#isListed(word) &&
      (word === word.toUpperCase() || word.slice(1) === word.slice(1).toLowerCase()) &&
      (this.#isListed(lower) || this.#inflected(lower, tag, stress, context) !== null)
    );
  }

  #numberWords(words: string): string[] {
    return words
      .split(/[^a-z]+/)
      .filter((word) => word !== '' && word !== 'and')
      .flatMap((word) => this.#lookup(word, '', word === 'point' ? -2 : null, null) ?? []);
  }

  /**
   * Reads a number with an ending, as in "1990s" or "3rd".
   * @param word ASCII digits with commas, points, a minus sign at the beginning and an ending
   */
  number(word: string, currency: string | null, isHead: boolean): Reading {
    const ending = /[a-z']+$/.exec(word)?.[0] ?? '';
    const isNegative = word.startsWith('-');
    const digits = word.slice(isNegative ? 1 : 0, word.length - ending.length);
    const read = [
      ...(isNegative ? this.#numberWords('minus') : []),
      ...this.#digits(digits, ending, isNegative, currency, isHead),
    ];
    if (read.length === 0) return null;
    const phonemes = read.join(' ');
    if (ending === 's' || ending === "'s") return withS(phonemes);
    if (ending === 'ed' || ending === "'d") return withD(phonemes);
    return ending === 'ing' ? withIng(phonemes) : phonemes;
  }

  #digits(
    number: string,
    ending: string,
    isNegative: boolean,
    currency: string | null,
    isHead: boolean,
  ): string[] {
    const isOrdinal = ORDINAL_ENDINGS.includes(ending);
    if (isDecimal(number)) {
      if (isOrdinal) return this.#numberWords(ordinal(number));
      if (number.length === 4 && !isNegative && currency === null) return this.#numberWords(year(number));
    }
    const plain = number.replaceAll(',', '');
    const [, fraction, ...others] = number.split('.');
    if (!isHead && fraction === undefined) return this.#groupOfDigits(plain);
    if (!isHead || others.length > 0)
      return plain.split('.').flatMap((part) => this.#numberWords(partWords(part)));
    if (currency !== null && (fraction ?? '').length < 3) return this.#amount(plain, currency);
    const read = this.#numberWords(numberWords(plain, isOrdinal));
    return currency === null ? read : [this.#withCurrency(read.join(' '), currency)];
  }

  /** Digits inside a word: "B52", "A380". */
  #groupOfDigits(digits: string): string[] {
    if (digits.startsWith('0') || digits.length > 3) return this.#numberWords(spelled(digits));
    if (digits.length < 3 || digits.endsWith('00')) return this.#numberWords(cardinal(digits));
    return [
      ...this.#numberWords(cardinal(digits.slice(0, 1))),
      ...(digits[1] === '0' ? [this.#lookup('O', '', -2, null) ?? []].flat() : []),
      ...this.#numberWords(cardinal(digits.slice(1))),
    ];
  }

  #amount(number: string, currency: string): string[] {
    const units = own(CURRENCIES, currency) ?? ['', ''];
    const amounts = number
      .split('.')
      .map((count, at) => (at === 0 ? count || '0' : count.padEnd(2, '0')))
      .map((count, at) => ({ count: count.replace(/^0+(?=\d)/, ''), unit: units[at] ?? '' }));
    const [whole, part] = amounts;
    const read = !part ? amounts : part.count === '0' ? [whole] : whole?.count === '0' ? [part] : amounts;
    return read.flatMap((amount, at) => {
      const { count, unit } = amount ?? { count: '', unit: '' };
      const unitRead =
        count !== '1' && unit !== 'pence'
          ? this.#inflected(`${unit}s`, '', null, null)
          : this.#lookup(unit, '', null, null);
      return [
        ...(at > 0 ? [this.#lookup('and', '', null, null) ?? ''] : []),
        ...this.#numberWords(cardinal(count)),
        unitRead ?? '',
      ];
    });
  }

  #withCurrency(phonemes: string, currency: string | null): string {
    const unit = currency === null ? undefined : own(CURRENCIES, currency)?.[0];
    const read = unit === undefined ? null : this.#inflected(`${unit}s`, '', null, null);
    return read === null ? phonemes : `${phonemes} ${read}`;
  }
}

/** "U.S.A.", "p.m." */
const isInitials = (word: string): boolean =>
  word.replaceAll(/^\.+|\.+$/g, '').includes('.') &&
  isAlphabetic(word.replaceAll('.', '')) &&
  word.split('.').every((part) => part.length < 3);

function byTag(entry: Record<string, string | null>, tag: string, context: Context | null): Reading {
  if (context?.vowel === null && Object.hasOwn(entry, 'None')) return entry['None'] ?? null;
  const key = Object.hasOwn(entry, tag) ? tag : wordClass(tag);
  return (Object.hasOwn(entry, key) ? entry[key] : entry['DEFAULT']) ?? null;
}

function numberWords(number: string, isOrdinal: boolean): string {
  if (number.startsWith('.')) return `point ${spelled(number.slice(1))}`;
  if (number.includes('.')) return decimal(number);
  return isOrdinal ? ordinal(number) : cardinal(number);
}

/** A part of a number with several points: "192.168.0.1". */
function partWords(part: string): string {
  const isSpelled = part.startsWith('0') || (part.length !== 2 && /[^0]/.test(part.slice(1)));
  return part === '' ? '' : isSpelled ? spelled(part) : cardinal(part);
}

/** @param isHead whether a minus sign may stand before it */
function isNumber(word: string, isHead: boolean): boolean {
  const ending = NUMBER_ENDINGS.find((each) => word.endsWith(each)) ?? '';
  const number = word.slice(0, word.length - ending.length);
  return /\d/.test(word) && (isHead ? /^-?[\d,.]*$/ : /^[\d,.]*$/).test(number) && /\d/.test(number);
}
