/** Focuses an element after the next render, where what had the focus is gone with it. */
export function focusIfLost(element: HTMLElement | null): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) element?.focus();
  });
}
