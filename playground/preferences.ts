import { effect, signal, type Signal } from '@preact/signals';

const PREFIX = 'localtext-playground:';

/** A signal stored in localStorage. An unreadable value falls back to `initial`. */
export function preference<T>(name: string, initial: T): Signal<T> {
  const value = signal(restore(read(PREFIX + name), initial));
  effect(() => {
    const text = JSON.stringify(value.value);
    write(PREFIX + name, text === JSON.stringify(initial) ? null : text);
  });
  return value;
}

/** Deletes all preferences, for a page that fails to render with them. */
export function clearPreferences(): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    // The browser refuses localStorage: nothing is stored.
  }
}

/** Null if nothing is stored or the browser refuses the storage. */
export function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function write(key: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    // Refused or full: the value lasts until the page is left.
  }
}

/** The stored value if it has the type of `initial`; for an object, its fields with the right type. */
export function restore<T>(text: string | null, initial: T): T {
  if (text === null) return initial;
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch {
    return initial;
  }
  if (!isPlain(initial)) return isLike(stored, initial) ? (stored as T) : initial;
  if (!isPlain(stored)) return initial;
  const fields = Object.entries(initial).map(([name, value]) => {
    const own = Object.hasOwn(stored, name) ? stored[name] : value;
    return [name, isLike(own, value) ? own : value];
  });
  return Object.fromEntries(fields) as T;
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A number may also be absent, which is null. */
function isLike(value: unknown, initial: unknown): boolean {
  if (initial === null || value === null)
    return [initial, value].every((each) => each === null || isNumber(each));
  return typeof value === typeof initial && typeof value !== 'object';
}

const isNumber = (value: unknown): boolean => typeof value === 'number';
