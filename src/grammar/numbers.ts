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

/** Digits of integers: those of 64 bits. Further ones only if a bound or a multiple asks for them. */
export const MAX_INTEGER_DIGITS = 20;
const FRACTION_DIGITS = 6;

/** Decimal texts of the numbers in a range, without exponents. */
export function numberLanguage(languages: Languages, range: NumberRange): Language {
  const { and, or, sequence, text } = languages;
  const ends = [range.low, range.high];
  // Up to an end, numbers may have fewer digits.
  const beyond = ends.filter((end) => end?.value.isNegative === (end === range.high));
  const valuesOf = (bounds: typeof ends) => [...bounds.map((bound) => bound?.value), ...range.multiples];
  const digits = digitsBeside(MAX_INTEGER_DIGITS, valuesOf(beyond), wholeDigits);
  const places = digitsBeside(FRACTION_DIGITS, valuesOf(ends), decimalPlaces);
  const build = numberTexts(languages);
  const most = Math.max(0, ...range.multiples.map(decimalPlaces));
  const multiples = range.multiples.map((of) => build.multiple(of, most));
  const parts = [build.form(range.integer, digits, places), ...multiples];
  const magnitudes = and(...parts);
  // No text has that many digits.
  const reached = (bound: Bound | undefined) =>
    bound && wholeDigits(bound.value) <= digits ? bound : undefined;
  const [low, high] = [reached(range.low), reached(range.high)];
  const positive = and(magnitudes, build.from(low), build.to(high));
  const negative = and(magnitudes, build.from(mirrored(high)), build.to(mirrored(low)));
  return or(positive, sequence(text('-'), and(negative, build.above('0'))));
}

/** The digits that numbers beyond or between some values may need: one more than the values have. */
const digitsBeside = (
  least: number,
  values: readonly (Decimal | undefined)[],
  digitsOf: (value: Decimal) => number,
): number => Math.max(least, ...values.map((value) => (value ? digitsOf(value) + 1 : 0)));

const mirrored = (bound: Bound | undefined): Bound | undefined =>
  bound && { value: negated(bound.value), open: bound.open };

const after = (digit: string): string => String.fromCharCode(digit.charCodeAt(0) + 1);

/** Texts of numbers that are not negative. */
function numberTexts({ all, and, multiple, never, not, or, repeat, sequence, set, text }: Languages) {
  const between = (first: string, last: string): Language =>
    first > last ? never : set([first.charCodeAt(0), last.charCodeAt(0)]);
  const optional = (of: Language): Language => repeat(of, 0, 1);
  const [zero, digit, point] = [text('0'), between('0', '9'), text('.')];
  const [zeros, digits] = [repeat(zero, 0, Infinity), repeat(digit, 0, Infinity)];
  const anyFraction = optional(sequence(point, digits));

  /** Numbers as JSON writes them. */
  const form = (integer: boolean, length: number, places: number): Language => {
    const whole = or(zero, sequence(between('1', '9'), repeat(digit, 0, length - 1)));
    return integer ? whole : sequence(whole, optional(sequence(point, repeat(digit, 1, places))));
  };

  /** Fractions above this one. */
  const fractionAbove = (fraction: string): Language =>
    [...fraction].reduceRight(
      (more, each) => or(sequence(text(each), more), sequence(between(after(each), '9'), digits)),
      sequence(zeros, between('1', '9'), digits),
    );

  /** Numbers above this one. Without leading zeros, the longer number is the larger. */
  const above = (number: string): Language => {
    const [whole = '', fraction = ''] = number.split('.');
    const longer = sequence(between('1', '9'), repeat(digit, whole.length, Infinity), anyFraction);
    // Numbers of as many digits; then those of the same digits and a larger fraction.
    const same = [...whole].reduceRight(
      (rest, each, index) => {
        const others = whole.length - 1 - index;
        const larger = sequence(between(after(each), '9'), repeat(digit, others, others), anyFraction);
        return or(sequence(text(each), rest), larger);
      },
      sequence(point, fractionAbove(fraction)),
    );
    return or(longer, same);
  };

  /** Texts of the same number, with or without zeros at the end. */
  const same = (number: string): Language => {
    const [whole = '', fraction = ''] = number.split('.');
    const rest = fraction === '' ? optional(sequence(point, zeros)) : sequence(point, text(fraction), zeros);
    return sequence(text(whole), rest);
  };

  const below = (number: string): Language => not(or(above(number), same(number)));

  /** Numbers from a lower bound on; all if the bound is negative. */
  const from = (low: Bound | undefined): Language => {
    if (!low || low.value.isNegative) return all;
    const number = plainText(low.value);
    return low.open ? above(number) : not(below(number));
  };

  /** Numbers up to an upper bound; none if the bound is negative. */
  const to = (high: Bound | undefined): Language => {
    if (!high) return all;
    if (high.value.isNegative) return never;
    const number = plainText(high.value);
    return high.open ? below(number) : not(above(number));
  };

  /**
   * Multiples of an integer with zeros at its end. The zeros are digits of each multiple: an automaton counts
   * only the rest.
   */
  const wholeMultiple = (of: number, end: number): Language => {
    const multiples = and(digits, multiple(of));
    return end === 0 ? multiples : or(zero, sequence(multiples, text('0'.repeat(end))));
  };

  /** Multiples of a decimal, with as many decimal places as it has and zeros up to `most` places, or none. */
  const multipleOf = (of: Decimal, most: number): Language => {
    const places = decimalPlaces(of);
    const divisor = Number(of.digits);
    const common = greatestCommonDivisor(divisor, 10 ** places);
    const whole = sequence(
      wholeMultiple(divisor / common, Math.max(0, of.exponent)),
      optional(sequence(point, zero)),
    );
    if (places === 0) return whole;
    const own = and(sequence(digits, point, repeat(digit, places, places)), multiple(divisor));
    return or(whole, sequence(own, repeat(zero, 0, most - places)));
  };

  return { above, form, from, multiple: multipleOf, to };
}

const greatestCommonDivisor = (a: number, b: number): number =>
  b === 0 ? a : greatestCommonDivisor(b, a % b);
