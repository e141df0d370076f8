import { effect, signal } from '@preact/signals';

const KEY = 'localtext-playground:draft';

/** The message being written. It is kept while another view is shown, and when the page is reloaded. */
export const draft = signal(read());

effect(() => {
  try {
    if (draft.value === '') sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, draft.value);
  } catch {
    // Refused or full: it is kept until the page is left.
  }
});

function read(): string {
  try {
    return sessionStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}
