import { type Decimal, decimalPlaces, negated, plainText, wholeDigits } from './decimal.ts';
import type { Language, Languages } from './language.ts';

/** Numbers that a schema allows. A bound is open when it is not itself allowed. */
export interface NumberRange {
  integer: boolean;
  low?: Bound;
  high?: Bound;
  multiples: readonly Decimal[];
}

export interface Bound {
  value: Decimal;
  open: boolean;
}

/** Digits of integers: those of 64 bits. Further ones only if a bound asks for them. */
export const MAX_INTEGER_DIGITS = 20;
const MIN_FRACTION_DIGITS = 6;
const MAX_FRACTION_DIGITS = 40;

/** Decimal texts of the numbers in a range, without exponents. */
export function numberLanguage(languages: Languages, range: NumberRange): Language {
  const { integer, multiples } = range;
  const digits = integerDigits(range);
  const build = new NumberTexts(languages);
  const parts = [build.form(integer, digits, fractionDigits(range))];
  for (const multiple of multiples) parts.push(build.multiple(multiple));
  const magnitudes = languages.and(...parts);
  // No text has that many digits.
  const isReached = (bound: Bound | undefined) => bound !== undefined && wholeDigits(bound.value) <= digits;
  const low = isReached(range.low) ? range.low : undefined;
  const high = isReached(range.high) ? range.high : undefined;
  const positive = languages.and(magnitudes, build.from(low), build.to(high));
  const negative = languages.and(magnitudes, build.from(mirrored(high)), build.to(mirrored(low)));
  const minus = languages.text('-');
  return languages.or(positive, languages.sequence(minus, languages.and(negative, build.above('0'))));
}

function integerDigits({ low, high }: NumberRange): number {
  const needed = [low?.value.isNegative ? undefined : low, high?.value.isNegative ? high : undefined];
  return Math.max(MAX_INTEGER_DIGITS, ...needed.map((bound) => (bound ? wholeDigits(bound.value) : 0)));
}

function fractionDigits({ low, high, multiples }: NumberRange): number {
  const values = [low?.value, high?.value, ...multiples];
  const places = Math.max(...values.map((value) => (value ? decimalPlaces(value) : 0)));
  return Math.min(Math.max(MIN_FRACTION_DIGITS, places), MAX_FRACTION_DIGITS);
}

const mirrored = (bound: Bound | undefined): Bound | undefined =>
  bound && { value: negated(bound.value), open: bound.open };

/** Texts of numbers that are not negative. */
class NumberTexts {
  readonly #languages: Languages;
  readonly #digit: Language;
  readonly #digits: Language;
  readonly #zeros: Language;
  readonly #point: Language;

  constructor(languages: Languages) {
    this.#languages = languages;
    this.#digit = this.#between('0', '9');
    this.#digits = languages.repeat(this.#digit, 0, Infinity);
    this.#zeros = languages.repeat(this.#between('0', '0'), 0, Infinity);
    this.#point = languages.text('.');
  }

  #between(first: string, last: string): Language {
    return first > last
      ? this.#languages.never
      : this.#languages.set([first.charCodeAt(0), last.charCodeAt(0)]);
  }

  #optional(of: Language): Language {
    return this.#languages.repeat(of, 0, 1);
  }

  /** Numbers as JSON writes them. */
  form(integer: boolean, digits: number, places: number): Language {
    const { or, sequence, repeat } = this.#languages;
    const whole = or(
      this.#between('0', '0'),
      sequence(this.#between('1', '9'), repeat(this.#digit, 0, digits - 1)),
    );
    if (integer) return whole;
    const fraction = sequence(this.#point, repeat(this.#digit, 1, places));
    return sequence(whole, this.#optional(fraction));
  }

  /** Numbers from a lower bound on; all if the bound is negative. */
  from(low: Bound | undefined): Language {
    if (!low || low.value.isNegative) return this.#languages.all;
    const text = plainText(low.value);
    return low.open ? this.above(text) : this.#languages.not(this.#below(text));
  }

  /** Numbers up to an upper bound; none if the bound is negative. */
  to(high: Bound | undefined): Language {
    if (!high) return this.#languages.all;
    if (high.value.isNegative) return this.#languages.never;
    const text = plainText(high.value);
    return high.open ? this.#below(text) : this.#languages.not(this.above(text));
  }

  /** Numbers above this one. Without leading zeros, the longer number is the larger. */
  above(text: string): Language {
    const { or, sequence, repeat } = this.#languages;
    const [whole = '', fraction = ''] = text.split('.');
    const longer = sequence(
      this.#between('1', '9'),
      repeat(this.#digit, whole.length, Infinity),
      this.#anyFraction(),
    );
    // Numbers of as many digits; then those of the same digits and a larger fraction.
    let same = sequence(this.#point, this.#fractionAbove(fraction));
    for (let i = whole.length - 1; i >= 0; i--) {
      const digit = whole.charAt(i);
      const rest = sequence(
        repeat(this.#digit, whole.length - 1 - i, whole.length - 1 - i),
        this.#anyFraction(),
      );
      same = or(
        sequence(this.#between(digit, digit), same),
        sequence(this.#between(String.fromCharCode(digit.charCodeAt(0) + 1), '9'), rest),
      );
    }
    return or(longer, same);
  }

  #below(text: string): Language {
    return this.#languages.not(this.#languages.or(this.above(text), this.#same(text)));
  }

  #anyFraction(): Language {
    return this.#optional(this.#languages.sequence(this.#point, this.#digits));
  }

  /** Fractions above this one. */
  #fractionAbove(fraction: string): Language {
    const { or, sequence } = this.#languages;
    let more = sequence(this.#zeros, this.#between('1', '9'), this.#digits);
    for (const digit of [...fraction].toReversed()) {
      const larger = this.#between(String.fromCharCode(digit.charCodeAt(0) + 1), '9');
      more = or(sequence(this.#between(digit, digit), more), sequence(larger, this.#digits));
    }
    return more;
  }

  /** Texts of the same number, with or without zeros at the end. */
  #same(text: string): Language {
    const { sequence, text: literal } = this.#languages;
    const [whole = '', fraction = ''] = text.split('.');
    const more =
      fraction === ''
        ? this.#optional(sequence(this.#point, this.#zeros))
        : sequence(this.#point, literal(fraction), this.#zeros);
    return sequence(literal(whole), more);
  }

  /** Multiples of a decimal, with as many decimal places as it has, or none. */
  multiple(of: Decimal): Language {
    const { and, or, sequence, repeat, multiple } = this.#languages;
    const places = decimalPlaces(of);
    const divisor = Number(of.digits);
    const zeros = this.#optional(sequence(this.#point, repeat(this.#between('0', '0'), 1, 1)));
    const common = greatestCommonDivisor(divisor, 10 ** places);
    const whole = sequence(this.#wholeMultiple(divisor / common, Math.max(0, of.exponent)), zeros);
    if (places === 0) return whole;
    const withPlaces = sequence(this.#digits, this.#point, repeat(this.#digit, places, places));
    return or(whole, and(withPlaces, multiple(divisor)));
  }

  /**
   * Multiples of an integer with zeros at its end. The zeros are digits of each multiple: an automaton counts
   * only the rest.
   */
  #wholeMultiple(of: number, zeros: number): Language {
    const { and, or, sequence, multiple, text } = this.#languages;
    const multiples = and(this.#digits, multiple(of));
    return zeros === 0 ? multiples : or(text('0'), sequence(multiples, text('0'.repeat(zeros))));
  }
}

const greatestCommonDivisor = (a: number, b: number): number =>
  b === 0 ? a : greatestCommonDivisor(b, a % b);
