import { anyOf, capitalized, EDGE, escaped, own, WORD } from './letters.ts';
import { cardinal, ordinal } from './number-words.ts';

/** Words for written forms: `"km"` → `["kilometer", "kilometers"]`. */
export interface WrittenForms {
  months: Record<string, string>;
  abbreviations: Record<string, string>;
  /** Read so only before a capitalized word: "St Paul". */
  titles: Record<string, string>;
  units: Record<string, [one: string, many: string]>;
  symbols: Record<string, string>;
  currency: Record<string, [one: string, many: string]>;
  /** Words before a Roman numeral that is a number: "Chapter IV". */
  roman_cardinal: string[];
  /** Names before a Roman numeral that is an ordinal: "Henry VIII". */
  roman_ordinal: string[];
}

const NUMBER = String.raw`\d+(?:,\d{3})*(?:\.\d+)?`;
const LARGE = String.raw`(hundred|thousand|million|billion|trillion|[kKmMbB]${EDGE})`;
const ROMAN = '((?=[IVXLC])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))';
const ROMAN_VALUES: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };
const FRACTIONS = ['', '', ...'half third quarter fifth sixth seventh eighth ninth tenth'.split(' ')];

function romanValue(numeral: string): number {
  const values = Array.from(numeral, (c) => ROMAN_VALUES[c] ?? 0);
  return values.reduce((sum, value, at) => sum + ((values[at + 1] ?? 0) > value ? -value : value), 0);
}

const plural = (count: string, [one, many]: readonly [string, string]): string =>
  ['1', '1.0', '-1'].includes(count.replaceAll(',', '')) ? one : many;

const scaleOf = (word: string): string =>
  own({ k: 'thousand', m: 'million', b: 'billion' }, word.toLowerCase()) ?? word;

type Groups = readonly (string | undefined)[];
interface Rule {
  pattern: RegExp;
  /** @returns the words, or null to leave the text as it is; `rest` follows the match */
  read: (match: string, groups: Groups, rest: string) => string | null;
}

function timeWords(groups: Groups, rest: string): string | null {
  const [hour = '', minute = '', second, half] = groups;
  if (Number(hour) > 24 || Number(minute) > 59 || Number(second ?? 0) > 59) return null;
  let words = cardinal(hour);
  if (Number(minute) === 0) words += half || second ? '' : " o'clock";
  else words += (Number(minute) < 10 ? ' oh ' : ' ') + cardinal(minute);
  if (second) words += ` and ${cardinal(second)} second${Number(second) === 1 ? '' : 's'}`;
  // With points, as the lexicon reads such letters one by one.
  if (half) words += ` ${half.toUpperCase()}.M${rest.startsWith('.') ? '' : '.'}`;
  return words;
}

/** Rules in the order in which they apply. */
function rulesOf(forms: WrittenForms): Rule[] {
  const monthNames = Object.values(forms.months);
  const months = anyOf([...monthNames, ...Object.keys(forms.months).map(capitalized), 'Sept']);
  const monthOf = (name: string): string => own(forms.months, name.toLowerCase().slice(0, 3)) ?? name;
  const dateWords = (month: number, day: string, inYear?: string): string | null => {
    const name = monthNames[month - 1];
    if (name === undefined || Number(day) < 1 || Number(day) > 31) return null;
    return `${name} ${ordinal(day)}${inYear ? `, ${inYear}` : ''}`;
  };
  const isDay = (day: string): boolean => Number(day) >= 1 && Number(day) <= 31;
  const currency = (sign: string): [string, string] => own(forms.currency, sign) ?? [sign, sign];
  const rule = (pattern: string, read: Rule['read']): Rule => ({ pattern: new RegExp(pattern, 'gu'), read });

  return [
    rule(
      String.raw`${EDGE}(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s?([AaPp])\.?[Mm]\.?(?![A-Za-z]))?(?!\d)`,
      (_, groups, rest) => timeWords(groups, rest),
    ),
    rule(String.raw`${EDGE}(\d{4})-(\d{2})-(\d{2})${EDGE}`, (_, [inYear, month, day]) =>
      dateWords(Number(month), day ?? '', inYear),
    ),
    rule(
      String.raw`${EDGE}(\d{1,2})\/(\d{1,2})\/(\d{4}|\d{2})${EDGE}`,
      (_, [first = '', second = '', year = '']) => {
        const inYear = year.length === 2 ? (Number(year) > 30 ? `19${year}` : `20${year}`) : year;
        return Number(first) <= 12
          ? dateWords(Number(first), second, inYear)
          : dateWords(Number(second), first, inYear);
      },
    ),
    rule(
      String.raw`([$£€])(${NUMBER})\s?${LARGE}`,
      (_, [sign = '', count, scale = '']) => `${count} ${scaleOf(scale)} ${currency(sign)[1]}`,
    ),
    rule(
      String.raw`(?<![${WORD}.])(${NUMBER})\s?¢`,
      (_, [count = '']) => `${count} ${plural(count, currency('¢'))}`,
    ),
    rule(
      String.raw`(?<![${WORD}])([¥₹₩]|Rs\.?|USD|EUR|GBP)\s?(${NUMBER})(?:\s?${LARGE})?`,
      (_, [sign = '', count = '', scale]) => {
        const words = currency(sign.replace(/\.$/, ''));
        return scale ? `${count} ${scaleOf(scale)} ${words[1]}` : `${count} ${plural(count, words)}`;
      },
    ),
    rule(String.raw`(?<![${WORD}.])(-?${NUMBER})\s?°\s?([CF])?(?![${WORD}])`, (_, [count = '', scale]) => {
      const words = `${count} ${plural(count, ['degree', 'degrees'])}`;
      return scale ? `${words} ${scale === 'C' ? 'Celsius' : 'Fahrenheit'}` : words;
    }),
    rule(
      String.raw`(?<![${WORD}.])(-?${NUMBER})\s?(${anyOf(Object.keys(forms.units))})(?![${WORD}])`,
      (_, [count = '', unit = '']) => `${count} ${plural(count, own(forms.units, unit) ?? [unit, unit])}`,
    ),
    rule(
      String.raw`${EDGE}(${months})\.? (\d{1,2})(?:st|nd|rd|th)?${EDGE}(?![\d:%])(,? \d{4}${EDGE})?`,
      (_, [month = '', day = '', inYear]) =>
        isDay(day) ? `${monthOf(month)} ${ordinal(day)}${inYear ?? ''}` : null,
    ),
    rule(String.raw`${EDGE}(the )?(\d{1,2}) (?:of )?(${months})${EDGE}\.?`, (_, [, day = '', month = '']) =>
      isDay(day) ? `the ${ordinal(day)} of ${monthOf(month)}` : null,
    ),
    rule(
      String.raw`${EDGE}(${anyOf(Object.keys(forms.titles))})\.? (?=[A-Z])`,
      (_, [title = '']) => `${own(forms.titles, title) ?? title} `,
    ),
    rule(
      String.raw`(?<![${WORD}.])(${anyOf(Object.keys(forms.abbreviations))})(?![${WORD}])`,
      (_, [short = ''], rest) =>
        (own(forms.abbreviations, short) ?? short) + (rest === '' && short.endsWith('.') ? '.' : ''),
    ),
    rule(String.raw`${EDGE}(No|Nos)\. ?(?=\d)`, (_, [short]) => (short === 'No' ? 'Number ' : 'Numbers ')),
    rule(String.raw`(?<![${WORD}&])#(?=\d)`, () => 'number '),
    rule(
      String.raw`${EDGE}(${anyOf(forms.roman_cardinal)}) ${ROMAN}${EDGE}(?![.'’][${WORD}])`,
      (_, [word, numeral = '']) => `${word} ${romanValue(numeral)}`,
    ),
    rule(
      String.raw`${EDGE}(${anyOf(forms.roman_ordinal)}) ${ROMAN}${EDGE}(?![.'’][${WORD}])`,
      (_, [word, numeral = '']) => `${word} the ${ordinal(String(romanValue(numeral)))}`,
    ),
    rule(String.raw`(?<![${WORD}.\-])(?:\d{3}-)?\d{3}-\d{4}(?![${WORD}.\-])`, (digits) =>
      Array.from(digits.replaceAll('-', ', ')).join(' '),
    ),
    rule(
      String.raw`(?<![${WORD}.\/])(\d{1,2})\/(\d{1,2})(?![${WORD}\/]|\.\d)`,
      (_, [above = '', below = '']) =>
        fractionWords(above, below) ??
        dateWords(Number(above), below) ??
        `${Number(above)} slash ${Number(below)}`,
    ),
    rule(
      String.raw`(?<![${WORD}.\-])(\d{1,4})\s?[-–]\s?(\d{1,4})(?![${WORD}.\-%])`,
      (_, [from, to]) => `${from} to ${to}`,
    ),
    rule(String.raw`(?<![${WORD}+])\+(?=\d)`, () => 'plus '),
    ...Object.entries(forms.symbols).map(([symbol, word]) =>
      rule('=<>~'.includes(symbol) ? String.raw`(?<=\S) ?${escaped(symbol)} ?(?=\S)` : escaped(symbol), () =>
        word ? ` ${word} ` : ' ',
      ),
    ),
  ];
}

function fractionWords(above: string, below: string): string | null {
  const count = Number(above);
  const unit = FRACTIONS[Number(below)];
  if (!unit || count < 1 || count >= Number(below)) return null;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Replaces written forms by words: times, dates, units, abbreviations, amounts of money, symbols. */
export function writtenFormReader(forms: WrittenForms) {
  const rules = rulesOf(forms);
  return (text: string): string => {
    let words = text
      .replaceAll(/\s+/g, ' ')
      .trim()
      .replaceAll('’', "'")
      .replaceAll('‒', '-')
      .replaceAll('―', '—');
    for (const { pattern, read } of rules)
      words = words.replaceAll(pattern, (match: string, ...more: unknown[]) => {
        const at = more.findIndex((each) => typeof each === 'number');
        const offset = Number(more[at]);
        return read(match, more.slice(0, at) as Groups, words.slice(offset + match.length)) ?? match;
      });
    return words
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/ +([,.;:!?])/g, '$1')
      .trim();
  };
}
