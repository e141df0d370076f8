import { table } from './letters.ts';

/** Numbers as English words: cardinals, ordinals, years and decimals. */

const ONES =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const TENS = ['', '', ...'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')];
const SCALES = [
  '',
  ...'thousand million billion trillion quadrillion quintillion sextillion septillion octillion nonillion decillion'.split(
    ' ',
  ),
];
/** Longer numbers are read digit by digit. */
const MAX_DIGITS = 3 * SCALES.length;
const IRREGULAR = table(
  'one first, two second, three third, five fifth, eight eighth, nine ninth, twelve twelfth',
);

const one = (n: number): string => ONES[n] ?? '';

function belowThousand(n: number): string {
  const words: string[] = [];
  if (n >= 100) words.push(one(Math.floor(n / 100)), 'hundred');
  const rest = n % 100;
  if (rest > 0 && words.length > 0) words.push('and');
  if (rest >= 20) words.push((TENS[Math.floor(rest / 10)] ?? '') + (rest % 10 ? `-${one(rest % 10)}` : ''));
  else if (rest > 0 || words.length === 0) words.push(one(rest));
  return words.join(' ');
}

/** Reads each digit: `"105"` is "one zero five". */
export const spelled = (digits: string): string =>
  Array.from(digits, (digit) => one(Number(digit))).join(' ');

/** @param digits ASCII digits; "one thousand, two hundred and thirty-four" */
export function cardinal(digits: string): string {
  const number = digits.replace(/^0+(?=\d)/, '');
  if (number.length > MAX_DIGITS) return spelled(number);
  if (number.length <= 3) return belowThousand(Number(number));
  const groups: string[] = [];
  for (let end = number.length, scale = 0; end > 0; end -= 3, scale++) {
    const group = Number(number.slice(Math.max(0, end - 3), end));
    if (group > 0) groups.unshift(belowThousand(group) + (scale > 0 ? ` ${SCALES[scale]}` : ''));
  }
  const last = groups.at(-1) ?? '';
  // "one thousand and one", but "one thousand, two hundred" and "one million, two thousand".
  const joinsByAnd =
    groups.length > 1 && !(last.split(' and ').at(-1) ?? '').includes(' ') && !last.includes('hundred');
  return joinsByAnd ? `${groups.slice(0, -1).join(', ')} and ${last}` : groups.join(', ');
}

/** @param digits ASCII digits; "twenty-third", "one hundred and first" */
export function ordinal(digits: string): string {
  const words = cardinal(digits);
  const at = Math.max(words.lastIndexOf(' '), words.lastIndexOf('-')) + 1;
  const last = words.slice(at);
  return (
    words.slice(0, at) + (IRREGULAR[last] ?? (last.endsWith('y') ? `${last.slice(0, -1)}ieth` : `${last}th`))
  );
}

/** @param digits four ASCII digits; "nineteen oh-five", "two thousand and five", "twenty ten" */
export function year(digits: string): string {
  const high = Number(digits.slice(0, -2));
  const low = Number(digits.slice(-2));
  if (high === 0 || (high % 10 === 0 && low < 10) || high >= 100) return cardinal(digits);
  const ending = low === 0 ? 'hundred' : low < 10 ? `oh-${one(low)}` : belowThousand(low);
  return `${belowThousand(high)} ${ending}`;
}

/** @param number digits with one point: "three point one four". Zeros at the end are not read. */
export function decimal(number: string): string {
  const [whole = '', fraction = ''] = number.split('.');
  const read = fraction.replace(/0+$/, '');
  return cardinal(whole || '0') + (read ? ` point ${spelled(read)}` : '');
}
