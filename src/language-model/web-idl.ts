/** Conversions of Web IDL, for arguments that scripts pass. */

export type Dictionary = Record<string, unknown>;

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

/** @throws TypeError */
export function toDictionary(value: unknown, name: string): Dictionary {
  return (value ?? null) === null ? {} : (toObject(value, name) as Dictionary);
}

/** Whether a union takes the value as a sequence, and not as a string. */
export const isSequence = (value: unknown): value is Iterable<unknown> =>
  isObject(value) && (value as { [Symbol.iterator]?: unknown })[Symbol.iterator] != null;

/** @throws TypeError */
export function toSequence(value: unknown, name: string): unknown[] {
  if (!isSequence(value)) throw new TypeError(`${name} must be a sequence.`);
  return [...value];
}

/** @throws TypeError for a symbol, which `String()` converts */
export const toText = (value: unknown): string => ''.concat(value as string);

/** @throws TypeError */
export function toEnum<T extends string>(value: unknown, values: readonly T[], name: string): T {
  const text = String(value);
  const found = values.find((each) => each === text);
  if (found === undefined) throw new TypeError(`${name} must be one of ${values.join(', ')}.`);
  return found;
}

/** @throws TypeError */
export function toObject(value: unknown, name: string): object {
  if (!isObject(value)) throw new TypeError(`${name} must be an object.`);
  return value;
}

/** @throws TypeError */
export function toSignal(value: unknown): AbortSignal | undefined {
  // Also one of another frame.
  if (value === undefined || interfaceOf(value) === 'AbortSignal') return value as AbortSignal | undefined;
  throw new TypeError('signal must be an AbortSignal.');
}

/** Name of the interface that an object of any realm implements. */
export const interfaceOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);
