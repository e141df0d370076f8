/** Moves the focus to the message field, where the next step is to write, or to press Esc. */
export const focusComposer = (): void => document.querySelector<HTMLElement>('.composer textarea')?.focus();
