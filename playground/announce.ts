import { signal } from '@preact/signals';

export const message = signal('');

/** Says `text` to a screen reader, once, when it is idle. For finished things, never for single tokens. */
export function announce(text: string): void {
  // The same text twice would not be read again.
  message.value = text === message.value ? `${text}\u00a0` : text;
}
