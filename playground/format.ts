const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Decimal units, as browsers and disks count: `98.4 MB`. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  // 999.6 MB is shown as 1.0 GB, not as 1000 MB.
  while (Math.round(value) >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value.toFixed(unit > 0 && value < 99.95 ? 1 : 0)} ${UNITS[unit] ?? ''}`;
}

/** `340 ms`, `2.4 s`, `3 min 5 s`, `1 h 12 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return withRest(`${minutes} min`, Math.floor(seconds % 60), 's');
  return withRest(`${Math.floor(minutes / 60)} h`, minutes % 60, 'min');
}

/** How long a download takes at a usual speed: `about 40 s at 100 Mbit/s`. The line is unknown before one has begun. */
export const timeToDownload = (size: number): string =>
  `about ${duration(Math.max(1, Math.round(size / 12.5e6)) * 1000)} at 100 Mbit/s`;

/** Remaining time in whole seconds, at least one: `1 s left`, `3 min 5 s left`. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  return `${seconds < 60 ? `${seconds} s` : duration(seconds * 1000)} left`;
}

const withRest = (whole: string, rest: number, unit: string): string =>
  rest === 0 ? whole : `${whole} ${rest} ${unit}`;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** `3 minutes ago`, `in 2 days`; `now` within a minute. */
export function timeAgo(at: number, now = Date.now()): string {
  const delta = at - now;
  for (const [unit, ms] of STEPS) {
    if (Math.abs(delta) >= ms) return relative.format(Math.round(delta / ms), unit);
  }
  return 'now';
}

export function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString('en', { hour12: false });
}

const integer = new Intl.NumberFormat('en');
export const count = (value: number): string => integer.format(value);
export const plural = (value: number, noun: string): string =>
  `${integer.format(value)} ${noun}${value === 1 ? '' : 's'}`;

export { messageOf } from '#base';

const JSON_PART = /("[^"\\]*(?:\\.[^"\\]*)*")|([[{])\s*([\]}])?|([\]}])|(,)|(:)|\s+/g;

/** JSON with line breaks: numbers and keys stay as they are written. Other texts stay. */
export function prettyJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  const line = (): string => `\n${'  '.repeat(depth)}`;
  return text.replaceAll(JSON_PART, (...[, string, opened, emptied, closed, comma, colon]: string[]) => {
    if (string !== undefined) return string;
    if (opened !== undefined && emptied !== undefined) return opened + emptied;
    if (opened !== undefined) {
      depth++;
      return opened + line();
    }
    if (closed !== undefined) {
      depth--;
      return line() + closed;
    }
    if (comma !== undefined) return comma + line();
    return colon === undefined ? '' : ': ';
  });
}
