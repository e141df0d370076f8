import { isNumber, writeJson } from './exact-json.ts';

/** Names that a client chose may be as long as the body. */
export const shortened = (text: string, length = 64): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;

/** Formats a value from a client, short enough for an error message. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  if (typeof value === 'string') {
    if (value === '') return 'an empty string';
    return JSON.stringify(shortened(value, 40));
  }
  if (isNumber(value)) {
    const text = shortened(writeJson(value), 40);
    return Number.isFinite(Number(value)) ? text : `${text}, which is too large,`;
  }
  if (typeof value === 'boolean') return String(value);
  return 'an object';
}
