/** Limits for a template's work and values. */
export interface Bounds {
  /** Removes the marks of clients' characters. The length stays. */
  plain(text: string): string;
  /** Maximum number of characters of a text, or of elements of a list. */
  readonly maxSize: number;
  /** Counts work, in units of about a microsecond. @throws BoundError if the total exceeds the limit */
  spend(work: number): void;
}

/** Error of a template that exceeds a bound. */
export class BoundError extends Error {}

/** A template's value as plain JavaScript. */
export type Plain = string | number | boolean | null | undefined | readonly Plain[];

/** A method of Python's `str`. */
type TextMethod = (text: string, args: readonly Plain[], bounds: Bounds) => Plain;

/** What Python takes for whitespace, as a part of a regular expression's class. */
const SPACE = String.raw`\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;
const IS_SPACE = new RegExp(`[${SPACE}]`);
const WORD = new RegExp(`[^${SPACE}]+`, 'g');

/** Splits a text, and counts each part as work. */
function split(text: string, by: string | RegExp, { spend }: Bounds): string[] {
  const parts = text.split(by);
  spend(parts.length);
  return parts;
}

/** Splits a text at a separator, marked or not. The last part after `max` separators stays whole. */
function splitAt(text: string, by: string, bounds: Bounds, max = -1): string[] {
  const parts: string[] = [];
  let at = 0;
  for (const { length } of split(bounds.plain(text), by, bounds)) {
    const isRest = parts.length === max;
    parts.push(text.slice(at, isRest ? undefined : at + length));
    if (isRest) break;
    at += length + by.length;
  }
  return parts;
}

const asText = (value: Plain): string => {
  if (typeof value === 'string') return value;
  throw new Error('an argument must be a text');
};
const asNumber = (value: Plain, otherwise: number): number => {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === 'number') return value;
  throw new Error('an argument must be a number');
};

/** Number of characters that a search compares in one unit of work. */
const COMPARED_A_UNIT = 4096;

/** Returns the text to search for, without marks, and counts the search's maximum work. */
export function needle(text: string, value: Plain, { spend, plain }: Bounds): string {
  const wanted = plain(asText(value));
  spend((text.length * wanted.length) / COMPARED_A_UNIT);
  return wanted;
}

/** Removes these characters, or by default whitespace, from the ends of a text. */
function stripped(text: string, chars: Plain, { plain }: Bounds, { left = true, right = true } = {}): string {
  const set = chars === undefined || chars === null ? null : new Set(plain(asText(chars)));
  const own = plain(text);
  const isOut = (at: number): boolean => set?.has(own.charAt(at)) ?? IS_SPACE.test(own.charAt(at));
  let [from, to] = [0, text.length];
  if (left) while (from < to && isOut(from)) from++;
  if (right) while (to > from && isOut(to - 1)) to--;
  return text.slice(from, to);
}

/** Python's `split()`. */
function splitText(text: string, [by, maxSplits]: readonly Plain[], bounds: Bounds): string[] {
  const max = asNumber(maxSplits, -1);
  if (by === undefined || by === null) {
    const words = [...text.matchAll(WORD)];
    bounds.spend(words.length);
    const rest = max < 0 ? undefined : words[max];
    return [
      ...words.slice(0, rest ? max : undefined).map(([word]) => word),
      ...(rest ? [text.slice(rest.index)] : []),
    ];
  }
  const wanted = needle(text, by, bounds);
  if (wanted === '') throw new Error('empty separator');
  return splitAt(text, wanted, bounds, max);
}

/** Python's `replace()`. */
function replaced(text: string, [before, after, most]: readonly Plain[], bounds: Bounds): string {
  const wanted = needle(text, before, bounds);
  const max = asNumber(most, -1);
  const parts = wanted === '' ? ['', ...text, ''] : splitAt(text, wanted, bounds, max);
  if (max >= 0 && max < parts.length) parts.push(parts.splice(max).join(''));
  return join(asText(after), [parts], bounds);
}

/** `startswith()` or `endswith()`, which also take a list of texts. */
const affix =
  (test: 'startsWith' | 'endsWith'): TextMethod =>
  (text, [affixes], { plain }) =>
    (Array.isArray(affixes) ? (affixes as readonly Plain[]) : [affixes]).some((each) =>
      plain(text)[test](plain(asText(each))),
    );

const LINE_END = String.raw`\r\n|[\n-\r\x1c-\x1e\x85\u2028\u2029]`;

function splitlines(text: string, [keepsEnds]: readonly Plain[], bounds: Bounds): string[] {
  const parts = split(text, new RegExp(`(${LINE_END})`), bounds);
  const lines: string[] = [];
  for (let at = 0; at < parts.length; at += 2)
    lines.push((parts[at] ?? '') + (keepsEnds === true ? (parts[at + 1] ?? '') : ''));
  if (parts.at(-1) === '') lines.pop();
  return lines;
}

/** Joins texts. @throws BoundError if the result is too long */
export function join(text: string, [list]: readonly Plain[], { maxSize }: Pick<Bounds, 'maxSize'>): string {
  const parts = typeof list === 'string' ? [...list] : list;
  if (!Array.isArray(parts)) throw new Error('join() requires a list');
  const texts = (parts as readonly Plain[]).map(asText);
  const length = texts.reduce((sum, part) => sum + part.length + text.length, 0);
  if (length > maxSize + text.length)
    throw new BoundError(`it makes a text of more than ${maxSize} characters`);
  return texts.join(text);
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** Python's `int()` of a text; undefined for one that is no number. */
export function integerIn(text: string): number | undefined {
  const number = text.replaceAll(/(?<=\d)_(?=\d)/g, '').trim();
  return DECIMAL.test(number) ? Math.trunc(Number(number)) : undefined;
}

/** Python's `capitalize()`. @param upper what the first character becomes */
function capitalized(
  text: string,
  upper = (first: string) => first.charAt(0) + first.slice(1).toLowerCase(),
) {
  const [first = ''] = text;
  return upper(first.toUpperCase()) + text.slice(first.length).toLowerCase();
}

/** Capitalizes the parts of a text, which a pattern that matches all of its characters finds. */
const titled =
  (parts: RegExp, upper?: (first: string) => string): TextMethod =>
  (text, _, { plain }) =>
    plain(text).replaceAll(parts, (part, at: number) => capitalized(text.slice(at, at + part.length), upper));

const FILTER_WORD = new RegExp(`[-(\\[{<${SPACE}]+|[^-(\\[{<${SPACE}]+`, 'g');

const upper: TextMethod = (text) => text.toUpperCase();
const lower: TextMethod = (text) => text.toLowerCase();
const capitalize: TextMethod = (text) => capitalized(text);

/** Methods of texts. */
export const TEXT_METHODS: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ['strip', (text, [characters], bounds) => stripped(text, characters, bounds)],
  ['lstrip', (text, [characters], bounds) => stripped(text, characters, bounds, { right: false })],
  ['rstrip', (text, [characters], bounds) => stripped(text, characters, bounds, { left: false })],
  ['startswith', affix('startsWith')],
  ['endswith', affix('endsWith')],
  ['split', splitText],
  ['replace', replaced],
  ['capitalize', capitalize],
  ['lower', lower],
  ['title', titled(/\p{Cased}+|\P{Cased}+/gu)],
  ['upper', upper],
  ['splitlines', splitlines],
  ['join', join],
]);

const SIGNATURES =
  'default default_value boolean,dictsort,endswith suffix,indent width first blank,int default,join d attribute,map-attribute attribute,replace old new count,sort reverse,split sep maxsplit,splitlines keepends,startswith prefix,tojson ensure_ascii separators indent,trim chars';

/** Names of parameters, in order. Filters and methods without them take any arguments, without names. */
export const PARAMETERS: ReadonlyMap<string, readonly string[]> = new Map(
  SIGNATURES.split(',').map((signature) => {
    const [name = '', ...parameters] = signature.split(' ');
    return [name, parameters];
  }),
);

/** Filters of texts. */
export const TEXT_FILTERS: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ['capitalize', capitalize],
  // The library indents what this splits.
  ['indent', (text, _, bounds) => splitlines(`${text}\n`, [], bounds).join('\n')],
  ['lower', lower],
  ['replace', replaced],
  ['title', titled(FILTER_WORD, (first) => first)],
  ['trim', (text, [characters], bounds) => stripped(text, characters, bounds)],
  ['upper', upper],
]);
