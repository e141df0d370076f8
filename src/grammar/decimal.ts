import type { ExactNumber } from '#base';

/** An exact decimal number: `digits` times ten to the power of `exponent`. */
export interface Decimal {
  readonly isNegative: boolean;
  /** Digits without zeros at either end; '0' for zero. */
  readonly digits: string;
  readonly exponent: number;
}

const ZERO: Decimal = { isNegative: false, digits: '0', exponent: 0 };
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;
/** Maximum zeros that are added to compute a remainder. */
const MAX_ZEROS = 400;

export function toDecimal(number: number | bigint | ExactNumber): Decimal {
  const text = typeof number === 'object' ? number.text : String(number);
  const [, sign, whole = '', fraction = '', power = '0'] = NUMBER.exec(text) ?? [];
  const all = whole + fraction;
  const digits = all.replaceAll(/^0+|0+$/g, '');
  if (digits === '') return ZERO;
  const zeros = all.length - all.search(/0*$/);
  return { isNegative: sign === '-', digits, exponent: Number(power) - fraction.length + zeros };
}

/** Equal numbers have one text. */
export const textOf = ({ isNegative, digits, exponent }: Decimal): string =>
  `${isNegative ? '-' : ''}${digits}e${exponent}`;

export const negated = (number: Decimal): Decimal =>
  number.digits === '0' ? number : { ...number, isNegative: !number.isNegative };

/** Digits before the decimal point; zero or negative for numbers below 0.1. */
export const wholeDigits = ({ digits, exponent }: Decimal): number => digits.length + exponent;

export const decimalPlaces = ({ exponent }: Decimal): number => Math.max(0, -exponent);

/** Negative, zero or positive, as `a` is less than, equal to or greater than `b`. */
export function compare(a: Decimal, b: Decimal): number {
  if (a.isNegative !== b.isNegative) return a.isNegative ? -1 : 1;
  const order = compareMagnitudes(a, b);
  return a.isNegative ? -order : order;
}

function compareMagnitudes(a: Decimal, b: Decimal): number {
  if (a.digits === '0' || b.digits === '0') return Number(b.digits === '0') - Number(a.digits === '0');
  const order = wholeDigits(a) - wholeDigits(b);
  if (order !== 0 || a.digits === b.digits) return order;
  return a.digits < b.digits ? -1 : 1;
}

export function isMultiple(number: Decimal, of: Decimal): boolean {
  const zeros = number.exponent - of.exponent;
  if (number.digits === '0') return true;
  // Digits have no zeros at their end. A number that is much larger has too many digits to be written.
  if (zeros < 0 || zeros > MAX_ZEROS) return false;
  return (BigInt(number.digits) * 10n ** BigInt(zeros)) % BigInt(of.digits) === 0n;
}

/** Writes the magnitude without an exponent: `0.25`, `3`. */
export function plainText({ digits, exponent }: Decimal): string {
  if (exponent >= 0) return digits + '0'.repeat(exponent);
  const padded = digits.padStart(1 - exponent, '0');
  return `${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}
