/** Focuses an element after the next render, if that render removed the focused element. */
export function focusIfLost(element: HTMLElement | null): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) element?.focus();
  });
}
