const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const SHORT = 3;
const DAY_MS = 86_400_000;

const padded = (value: number, length = 2, fill = '0'): string => String(value).padStart(length, fill);

/** Number of days since the year began. */
const dayOfYear = (date: Date): number =>
  (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - Date.UTC(date.getFullYear(), 0, 1)) /
  DAY_MS;

/** Number of the week. Week 1 begins on the first day `first` (0: Sunday); earlier days are in week 0. */
const weekOfYear = (date: Date, first: number): number =>
  Math.floor((dayOfYear(date) + 7 - ((date.getDay() - first + 7) % 7)) / 7);

/** Thursday of the date's week. An ISO week belongs to the year of its Thursday. */
const thursday = (date: Date): Date =>
  new Date(date.getFullYear(), date.getMonth(), date.getDate() + 3 - ((date.getDay() + 6) % 7));

const hour12 = (date: Date): number => date.getHours() % 12 || 12;

/** Directives of Python's `strftime()` for a time without a zone: `%z` and `%Z` are empty. */
const DIRECTIVES: Record<string, (date: Date) => string> = {
  a: (date) => (DAYS[date.getDay()] ?? '').slice(0, SHORT),
  A: (date) => DAYS[date.getDay()] ?? '',
  b: (date) => (MONTHS[date.getMonth()] ?? '').slice(0, SHORT),
  B: (date) => MONTHS[date.getMonth()] ?? '',
  c: (date) => strftime(date, '%a %b %e %H:%M:%S %Y'),
  C: (date) => padded(Math.floor(date.getFullYear() / 100)),
  d: (date) => padded(date.getDate()),
  D: (date) => strftime(date, '%m/%d/%y'),
  e: (date) => padded(date.getDate(), 2, ' '),
  f: (date) => padded(date.getMilliseconds() * 1000, 6),
  F: (date) => strftime(date, '%Y-%m-%d'),
  g: (date) => padded(thursday(date).getFullYear() % 100),
  G: (date) => String(thursday(date).getFullYear()),
  h: (date) => strftime(date, '%b'),
  H: (date) => padded(date.getHours()),
  I: (date) => padded(hour12(date)),
  j: (date) => padded(dayOfYear(date) + 1, 3),
  k: (date) => padded(date.getHours(), 2, ' '),
  l: (date) => padded(hour12(date), 2, ' '),
  m: (date) => padded(date.getMonth() + 1),
  M: (date) => padded(date.getMinutes()),
  n: () => '\n',
  P: (date) => strftime(date, '%p').toLowerCase(),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  r: (date) => strftime(date, '%I:%M:%S %p'),
  R: (date) => strftime(date, '%H:%M'),
  s: (date) => String(Math.floor(date.getTime() / 1000)),
  S: (date) => padded(date.getSeconds()),
  t: () => '\t',
  T: (date) => strftime(date, '%H:%M:%S'),
  u: (date) => String(date.getDay() || 7),
  U: (date) => padded(weekOfYear(date, 0)),
  V: (date) => padded(Math.floor(dayOfYear(thursday(date)) / 7) + 1),
  w: (date) => String(date.getDay()),
  W: (date) => padded(weekOfYear(date, 1)),
  x: (date) => strftime(date, '%m/%d/%y'),
  X: (date) => strftime(date, '%H:%M:%S'),
  y: (date) => padded(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  z: () => '',
  Z: () => '',
  '%': () => '%',
};

/** Formats a time as Python does, always in English. `%-d` is `%d` without leading zeros. */
export function strftime(date: Date, format: string): string {
  return format.replaceAll(/%(-?)([a-zA-Z%])/g, (whole, dash: string, letter: string) => {
    const text = DIRECTIVES[letter]?.(date);
    if (text === undefined) return whole;
    return dash ? text.replace(/^[0 ]+(?=.)/, '') : text;
  });
}
