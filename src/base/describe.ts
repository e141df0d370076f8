import { isNumber, writeJson } from './exact-json.ts';

/** Names that a client chose may be as long as the body. */
export const shortened = (text: string, length = 64): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;

/** Formats a value from a client, short enough for an error message. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty array' : `an array of length ${value.length}`;
  if (typeof value === 'string') {
    if (value === '') return 'an empty string';
    const text = JSON.stringify(shortened(value, 40));
    return value.length > 40 ? `${text} of length ${value.length}` : text;
  }
  if (isNumber(value)) {
    const text = shortened(writeJson(value), 40);
    return Number.isFinite(Number(value)) ? text : `${text}, which is too large,`;
  }
  if (typeof value === 'boolean') return String(value);
  const { length } = Object.keys(value as object);
  return `an object of ${length} member${length === 1 ? '' : 's'}`;
}
