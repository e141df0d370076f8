/** Whether a key belongs to an input method. WebKit marks the Enter that confirms its text by the key code alone. */
export const isComposing = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229;
