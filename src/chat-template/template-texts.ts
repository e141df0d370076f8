import { ALL_MARKS } from './client-text.ts';

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

const tooLong = (maxSize: number): BoundError =>
  new BoundError(`it makes a text of more than ${maxSize} characters`);

/** Joins texts. @throws BoundError if the result is too long */
function joined(parts: Iterable<string>, { maxSize }: Pick<Bounds, 'maxSize'>): string {
  const kept: string[] = [];
  let length = 0;
  for (const part of parts) {
    length += part.length;
    if (length > maxSize) throw tooLong(maxSize);
    kept.push(part);
  }
  return kept.join('');
}

export function repeated(text: string, times: number, { maxSize }: Pick<Bounds, 'maxSize'>): string {
  if (text.length * times > maxSize) throw tooLong(maxSize);
  return text.repeat(Math.max(0, times));
}

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
function needle(text: string, value: Plain, { spend, plain }: Bounds): string {
  const wanted = plain(asText(value));
  spend((text.length * wanted.length) / COMPARED_A_UNIT);
  return wanted;
}

function separator(text: string, value: Plain, bounds: Bounds): string {
  const wanted = needle(text, value, bounds);
  if (wanted === '') throw new Error('empty separator');
  return wanted;
}

/** Selects the part of a text to search, by a method's second and third argument. */
function range(text: string, [, first, last]: readonly Plain[]): { from: number; part: string } {
  const at = (value: number): number => Math.max(0, value < 0 ? text.length + value : value);
  const from = at(asNumber(first, 0));
  return { from, part: text.slice(from, at(asNumber(last, text.length))) };
}

function find(text: string, args: readonly Plain[], bounds: Bounds, by: 'indexOf' | 'lastIndexOf'): number {
  const { from, part } = range(text, args);
  if (from > text.length) return -1;
  const at = bounds.plain(part)[by](needle(part, args[0], bounds));
  return at === -1 ? -1 : from + at;
}

/** Removes these characters, or by default whitespace, from the ends of a text. */
function stripped(text: string, chars: Plain, { plain }: Bounds, { left = true, right = true } = {}): string {
  if (chars === undefined || chars === null) {
    const leftTrimmed = left ? text.trimStart() : text;
    return right ? leftTrimmed.trimEnd() : leftTrimmed;
  }
  const set = new Set(plain(asText(chars)));
  const own = plain(text);
  const isOut = (at: number): boolean => set.has(own.charAt(at));
  let [from, to] = [0, text.length];
  if (left) while (from < to && isOut(from)) from++;
  if (right) while (to > from && isOut(to - 1)) to--;
  return text.slice(from, to);
}

function rsplit(text: string, [by, maxSplits]: readonly Plain[], bounds: Bounds): string[] {
  const max = asNumber(maxSplits, -1);
  const isBySpace = by === undefined || by === null;
  const words = [...(isBySpace ? text.matchAll(/\S+/g) : [])];
  bounds.spend(words.length);
  const parts = isBySpace ? words.map(([word]) => word) : splitAt(text, separator(text, by, bounds), bounds);
  const rest = max < 0 ? 0 : parts.length - max;
  if (rest <= 1) return parts;
  const last = words[rest - 1];
  const tail = parts.slice(rest);
  const separated = tail.reduce((sum, part) => sum + part.length + asText(by ?? '').length, 0);
  const end = last ? last.index + last[0].length : text.length - separated;
  return [text.slice(0, end), ...tail];
}

/** Python's `split()`. */
function splitText(text: string, [by, maxSplits]: readonly Plain[], bounds: Bounds): string[] {
  const max = asNumber(maxSplits, -1);
  if (by === undefined || by === null) {
    const words = [...text.matchAll(/\S+/g)];
    bounds.spend(words.length);
    const rest = max < 0 ? undefined : words[max];
    return [
      ...words.slice(0, rest ? max : undefined).map(([word]) => word),
      ...(rest ? [text.slice(rest.index)] : []),
    ];
  }
  return splitAt(text, separator(text, by, bounds), bounds, max);
}

/** Python's `replace()`. */
function replaced(text: string, [before, after, most]: readonly Plain[], bounds: Bounds): string {
  const wanted = needle(text, before, bounds);
  const parts = wanted === '' ? ['', ...text, ''] : splitAt(text, wanted, bounds, asNumber(most, -1));
  return join(asText(after), [parts], bounds);
}

/** `startswith()` or `endswith()`, which also take a list of texts. */
const affix =
  (test: 'startsWith' | 'endsWith'): TextMethod =>
  (text, [affixes], { plain }) =>
    (Array.isArray(affixes) ? (affixes as readonly Plain[]) : [affixes]).some((each) =>
      plain(text)[test](plain(asText(each))),
    );

const withoutAffix =
  (test: 'startsWith' | 'endsWith', cut: (text: string, length: number) => string): TextMethod =>
  (text, [end], { plain }) =>
    plain(text)[test](plain(asText(end))) ? cut(text, asText(end).length) : text;

const LINE_END = /\r\n|[\n\r\v\f\x85\u2028\u2029]/;

function splitlines(text: string, [keepsEnds]: readonly Plain[], bounds: Bounds): string[] {
  const parts = split(text, new RegExp(`(${LINE_END.source})`), bounds);
  const lines: string[] = [];
  for (let at = 0; at < parts.length; at += 2)
    lines.push((parts[at] ?? '') + (keepsEnds === true ? (parts[at + 1] ?? '') : ''));
  if (parts.at(-1) === '') lines.pop();
  return lines;
}

function join(text: string, [list]: readonly Plain[], bounds: Bounds): string {
  const parts = typeof list === 'string' ? [...list] : list;
  if (!Array.isArray(parts)) throw new Error('join() requires a list');
  return joined(
    (parts as readonly Plain[]).flatMap((part, index) => (index > 0 ? [text, asText(part)] : [asText(part)])),
    bounds,
  );
}

/** Evaluates `text.format(values)`, without names and format specifications. The values are texts. */
function format(text: string, values: readonly Plain[], bounds: Bounds): string {
  let next = 0;
  return filled(text, /(\{\d*\}|[{}])/, bounds, (place) => {
    if (!/\d|\{\}/.test(place)) throw new Error('format() knows {} and {0} alone');
    return asText(values[place === '{}' ? next++ : Number(place.slice(1, -1))]);
  });
}

/** Replaces the places in a text that a pattern with one group finds. */
const filled = (text: string, pattern: RegExp, bounds: Bounds, fill: (place: string) => string): string =>
  joined(
    split(text, pattern, bounds).map((part, index) => (index % 2 === 0 ? part : fill(part))),
    bounds,
  );

const DECIMAL = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** Evaluates `text % values`, without widths and precisions. The values are texts. */
export function percentFormat(text: string, values: readonly Plain[], bounds: Bounds): string {
  let next = 0;
  const whole = filled(text, /(%.)/s, bounds, (place) => {
    if (place === '%%') return '%';
    if (next >= values.length) throw new Error('not enough arguments for format string');
    const value = asText(values[next++]);
    if (place === '%s') return value;
    if (place === '%d' && DECIMAL.test(value))
      return /^-?\d+$/.test(value) ? value : String(Math.trunc(Number(value)));
    throw new Error(`% does not know ${place}`);
  });
  if (next < values.length) throw new Error('not all arguments converted during string formatting');
  return whole;
}

/** Python's `int()`, and the default for a text that is no number. */
function toInteger(text: string, [otherwise = 0, base = 10]: readonly Plain[], { plain }: Bounds): Plain {
  if (base !== 10) throw new Error('int knows the base 10 alone');
  const number = plain(text).trim();
  return DECIMAL.test(number) ? Math.trunc(Number(number)) : otherwise;
}

const capitalize: TextMethod = (text) => text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();

/** Text methods that the library lacks, or runs without their arguments. */
export const TEXT_METHODS: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ['strip', (text, [characters], bounds) => stripped(text, characters, bounds)],
  ['lstrip', (text, [characters], bounds) => stripped(text, characters, bounds, { right: false })],
  ['rstrip', (text, [characters], bounds) => stripped(text, characters, bounds, { left: false })],
  ['startswith', affix('startsWith')],
  ['endswith', affix('endsWith')],
  ['split', splitText],
  ['replace', replaced],
  ['capitalize', capitalize],
  ['find', (text, args, bounds) => find(text, args, bounds, 'indexOf')],
  ['rfind', (text, args, bounds) => find(text, args, bounds, 'lastIndexOf')],
  ['removeprefix', withoutAffix('startsWith', (text, length) => text.slice(length))],
  ['removesuffix', withoutAffix('endsWith', (text, length) => text.slice(0, text.length - length))],
  ['format', format],
  ['rsplit', rsplit],
  ['splitlines', splitlines],
  ['join', join],
]);

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};
const ESCAPABLE = new RegExp(`([&<>"'${ALL_MARKS}])`);

/** Parameter names of filters and methods, in order. */
export const PARAMETERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['int', ['default', 'base']],
  ['replace', ['old', 'new', 'count']],
  ['rsplit', ['sep', 'maxsplit']],
  ['split', ['sep', 'maxsplit']],
  ['splitlines', ['keepends']],
  ['trim', ['chars']],
  ['unique', ['case_sensitive', 'attribute']],
]);

/** Text filters that the library lacks. */
export const TEXT_FILTERS: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ['capitalize', capitalize],
  [
    'escape',
    (text, _, bounds) => filled(text, ESCAPABLE, bounds, (sign) => ESCAPES[bounds.plain(sign)] ?? sign),
  ],
  ['int', toInteger],
  ['replace', replaced],
  ['trim', (text, [characters], bounds) => stripped(text, characters, bounds)],
]);
