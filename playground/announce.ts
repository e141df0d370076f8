import { signal } from '@preact/signals';

export const message = signal('');

/** Announces `text` to screen readers once, when idle. Use it for results, never for single tokens. */
export function announce(text: string): void {
  // The same text twice would not be read again.
  message.value = text === message.value ? `${text}\u00a0` : text;
}
