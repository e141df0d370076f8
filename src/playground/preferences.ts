import { effect, signal, type Signal } from '@preact/signals';

const PREFIX = 'localtext-playground:';

/** A signal that remembers its value in localStorage. What cannot be read back falls back to `initial`. */
export function preference<T>(name: string, initial: T): Signal<T> {
  const stored = localStorage.getItem(PREFIX + name);
  const value = signal(stored === null ? initial : parse(stored, initial));
  effect(() => {
    const text = JSON.stringify(value.value);
    if (text !== JSON.stringify(initial)) localStorage.setItem(PREFIX + name, text);
    else localStorage.removeItem(PREFIX + name);
  });
  return value;
}

function parse<T>(text: string, initial: T): T {
  try {
    const parsed = JSON.parse(text) as T;
    const plain = typeof initial === 'object' && initial !== null && !Array.isArray(initial);
    return plain ? { ...initial, ...parsed } : parsed;
  } catch {
    return initial;
  }
}
