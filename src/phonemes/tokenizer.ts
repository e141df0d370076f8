import { escaped, inClass, LETTER, LOWER, own, UPPER, WORD } from './letters.ts';

/** Contractions and abbreviations, with their tokens. */
export type SpecialCases = Record<string, string[]>;

const QUOTES = `'"”“\`‘´’‚,„»«「」『』（）〔〕【】《》〈〉`;
const MARKS = '…,:;!?¿¡()[]{}<>_#*&。？！，、；：～·';
const ICONS = '™®©°§¶†‡•';
const CURRENCY = ['$', '£', '€', '¥', '฿', 'US$', 'C$', 'A$', ...'₽₹₩₪₺₴₦₫₱₲₵₸₼₾₿'].map(escaped).join('|');
const UNITS =
  'km|km²|km³|m|m²|m³|dm|dm²|dm³|cm|cm²|cm³|mm|mm²|mm³|ha|µm|nm|yd|in|ft|kg|g|mg|µg|t|lb|oz|m/s|km/h|kmh|mph|hPa|Pa|mbar|mb|MB|kb|KB|gb|GB|tb|TB|T|G|M|K|%'.replaceAll(
    '/',
    String.raw`\/`,
  );

const marks = Array.from(MARKS, escaped);
const quotes = Array.from(QUOTES, escaped);
const icons = `[${inClass(ICONS)}]`;
const DOTS = String.raw`\.\.+`;

const PREFIX = new RegExp(
  [...'§ % = — –'.split(' '), String.raw`\+(?![0-9])`, ...marks, DOTS, ...quotes, CURRENCY, icons]
    .map((each) => `^(?:${each})`)
    .join('|'),
  'u',
);
const SUFFIX = new RegExp(
  [
    '……',
    ...marks,
    DOTS,
    ...quotes,
    icons,
    ..."'s 'S ’s ’S — –".split(' '),
    String.raw`(?<=[0-9])\+`,
    String.raw`(?<=°[FfCcKk])\.`,
    `(?<=[0-9])(?:${CURRENCY})`,
    `(?<=[0-9])(?:${UNITS})`,
    String.raw`(?<=[0-9${LOWER}%²\-+${inClass(MARKS)}${inClass(QUOTES)}])\.`,
    String.raw`(?<=[${UPPER}][${UPPER}])\.`,
  ]
    .map((each) => `(?:${each})$`)
    .join('|'),
  'u',
);
const INFIX = new RegExp(
  [
    DOTS,
    '…',
    icons,
    String.raw`(?<=[0-9])[+\-*^](?=[0-9\-])`,
    String.raw`(?<=[${LOWER}${inClass(QUOTES)}])\.(?=[${UPPER}${inClass(QUOTES)}])`,
    `(?<=[${LETTER}]),(?=[${LETTER}])`,
    `(?<=[${LETTER}\\p{Nd}])(?:-|–|—|--|---|——|~)(?=[${LETTER}])`,
    `(?<=[${LETTER}\\p{Nd}])[:<>=\\/](?=[${LETTER}])`,
  ]
    .map((each) => `(?:${each})`)
    .join('|'),
  'gu',
);
const ADDRESS = new RegExp(
  [
    String.raw`^(?:(?:https?|ftp):\/\/|www\.)\S+$`,
    String.raw`^[${WORD}.+\-]+@[${WORD}\-]+(?:\.[${WORD}\-]+)+$`,
    String.raw`^(?:[${WORD}\-]+\.)+(?:com|org|net|edu|gov|io|co|uk|de|fr|info|biz|us|ca|au|tv|me|ly|ai)(?:\/\S*)?$`,
  ].join('|'),
  'iu',
);

/** Longer runs without a space are cut: splitting takes time with the square of their length. */
const MAX_RUN = 200;
const RUN = new RegExp(String.raw`\S{1,${MAX_RUN}}`, 'gu');

/** Splits sentences into words and punctuation. */
export function tokenizer(specialCases: SpecialCases) {
  const specialCase = (text: string): string[] | undefined => own(specialCases, text);

  function splitRun(run: string): string[] {
    const whole = specialCase(run);
    if (whole) return whole;
    const before: string[] = [];
    const after: string[] = [];
    let rest = run;
    for (let ends = endsOf(rest); ends; ends = endsOf(rest)) {
      if (ends.prefix !== '') before.push(ends.prefix);
      if (ends.suffix !== '') after.unshift(ends.suffix);
      rest = rest.slice(ends.prefix.length, rest.length - ends.suffix.length);
    }
    const tokens = [...before, ...splitWord(rest), ...after];
    return tokens.length > 1 ? rejoined(tokens) : tokens;
  }

  /** Punctuation at the ends; null if nothing is to be taken off. If one end alone leaves a special case, the other stays. */
  function endsOf(text: string): { prefix: string; suffix: string } | null {
    if (text === '' || specialCase(text)) return null;
    const prefix = PREFIX.exec(text)?.[0] ?? '';
    if (prefix !== '' && specialCase(text.slice(prefix.length))) return { prefix, suffix: '' };
    const suffix = SUFFIX.exec(text.slice(prefix.length))?.[0] ?? '';
    if (suffix !== '' && specialCase(text.slice(0, -suffix.length))) return { prefix: '', suffix };
    return prefix === '' && suffix === '' ? null : { prefix, suffix };
  }

  function splitWord(word: string): string[] {
    if (word === '') return [];
    const special = specialCase(word);
    if (special) return special;
    if (ADDRESS.test(word)) return [word];
    const tokens: string[] = [];
    let start = 0;
    for (const { 0: infix, index } of word.matchAll(INFIX)) {
      if (index === 0) continue;
      if (index > start) tokens.push(word.slice(start, index));
      tokens.push(infix);
      start = index + infix.length;
    }
    if (start < word.length) tokens.push(word.slice(start));
    return tokens;
  }

  /** Joins neighbours that are a special case together: `Sept` and `.`. */
  function rejoined(tokens: readonly string[]): string[] {
    const joined: string[] = [];
    for (let at = 0; at < tokens.length;) {
      const count = [3, 2].find(
        (n) => at + n <= tokens.length && specialCase(tokens.slice(at, at + n).join('')),
      );
      if (count === undefined) joined.push(tokens[at] ?? '');
      else joined.push(...(specialCase(tokens.slice(at, at + count).join('')) ?? []));
      at += count ?? 1;
    }
    return joined;
  }

  return (text: string): { text: string; spaced: boolean }[] =>
    Array.from(text.matchAll(RUN)).flatMap(({ 0: run, index }) => {
      const tokens = splitRun(run);
      const spaced = /^\s/.test(text.slice(index + run.length, index + run.length + 1));
      return tokens.map((token, at) => ({ text: token, spaced: spaced && at === tokens.length - 1 }));
    });
}
