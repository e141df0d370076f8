/** Character classes for regular expressions with the flag `u`. They are as wide as those of Python's `re`. */

/** A letter or a digit of any script, or `_`: inside a class. */
export const WORD = String.raw`\p{L}\p{N}_`;
/** A letter, or a numeral that is no decimal digit: inside a class. */
export const LETTER = String.raw`\p{L}\p{Nl}\p{No}`;
export const LOWER = 'a-zß-öø-ÿ';
export const UPPER = 'A-ZÀ-ÖØ-Þ';
/** A word begins or ends here. */
export const EDGE = `(?:(?<![${WORD}])(?=[${WORD}])|(?<=[${WORD}])(?![${WORD}]))`;

const SYNTAX = /[\\^$.*+?()[\]{}|/-]/g;

/** A text as a pattern. */
export const escaped = (text: string): string => text.replaceAll(SYNTAX, (c) => (c === '-' ? c : `\\${c}`));

/** Characters inside a class. */
export const inClass = (characters: string): string => characters.replaceAll(/[\\\]^[-]/g, String.raw`\$&`);

/** One of the texts, the longest first. */
export const anyOf = (texts: readonly string[]): string =>
  texts
    .toSorted((a, b) => b.length - a.length)
    .map(escaped)
    .join('|');

export const isAlphabetic = (text: string): boolean => /^\p{L}+$/u.test(text);
export const isDecimal = (text: string): boolean => /^\d+$/.test(text);

/** The first letter upper-case, the rest lower-case. */
export function capitalized(text: string): string {
  const [first = ''] = text;
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
}

/** A record's own value. Tables have words such as "constructor". */
export const own = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

export type Words = Readonly<Record<string, string>>;

/** Reads "key words, key words". */
export const table = (text: string): Words =>
  Object.fromEntries(
    text
      .trim()
      .replaceAll(/\s+/g, ' ')
      .split(', ')
      .map((entry) => [entry.slice(0, entry.indexOf(' ')), entry.slice(entry.indexOf(' ') + 1)]),
  );
