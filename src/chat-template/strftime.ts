const padded = (value: number, length = 2, fill = '0'): string => String(value).padStart(length, fill);

const inEnglish = (date: Date, options: Intl.DateTimeFormatOptions): string =>
  date.toLocaleString('en-US', options);

/** Number of days since the year began. */
const dayOfYear = (date: Date): number =>
  (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - Date.UTC(date.getFullYear(), 0, 1)) /
  86_400_000;

/** Directives of Python's `strftime()`, but those of weeks, for a time without a zone: `%z` and `%Z` are empty. */
const DIRECTIVES: Record<string, (date: Date) => string> = {
  a: (date) => inEnglish(date, { weekday: 'short' }),
  A: (date) => inEnglish(date, { weekday: 'long' }),
  b: (date) => inEnglish(date, { month: 'short' }),
  B: (date) => inEnglish(date, { month: 'long' }),
  c: (date) => strftime(date, '%a %b %e %H:%M:%S %Y'),
  d: (date) => padded(date.getDate()),
  D: (date) => strftime(date, '%m/%d/%y'),
  e: (date) => padded(date.getDate(), 2, ' '),
  f: (date) => padded(date.getMilliseconds() * 1000, 6),
  F: (date) => strftime(date, '%Y-%m-%d'),
  h: (date) => strftime(date, '%b'),
  H: (date) => padded(date.getHours()),
  I: (date) => padded(date.getHours() % 12 || 12),
  j: (date) => padded(dayOfYear(date) + 1, 3),
  m: (date) => padded(date.getMonth() + 1),
  M: (date) => padded(date.getMinutes()),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  R: (date) => strftime(date, '%H:%M'),
  S: (date) => padded(date.getSeconds()),
  T: (date) => strftime(date, '%H:%M:%S'),
  w: (date) => String(date.getDay()),
  x: (date) => strftime(date, '%m/%d/%y'),
  X: (date) => strftime(date, '%H:%M:%S'),
  y: (date) => padded(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  z: () => '',
  Z: () => '',
  '%': () => '%',
};

/** Formats a time as Python does, always in English. `%-d` is `%d` without leading zeros. */
export const strftime = (date: Date, format: string): string =>
  format.replaceAll(/%(-?)([a-zA-Z%])/g, (whole, dash: string, letter: string) => {
    const text = DIRECTIVES[letter]?.(date);
    if (text === undefined) return whole;
    return dash ? text.replace(/^[0 ]+(?=.)/, '') : text;
  });
