import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { focusIfLost } from './focus-if-lost.ts';

/**
 * Keeps the focus near where it was when the element that has it is removed: on the element of this ref, or, where that is
 * gone too, on the closest element around it that can be focused. The element needs `tabIndex={-1}`.
 */
export function useKeptFocus<T extends HTMLElement>(): RefObject<T | null> {
  const ref = useRef<T>(null);
  // Read before the new elements take the place of the old ones.
  const before = ref.current;
  const hadFocus = before?.contains(document.activeElement) ?? false;
  const around = hadFocus ? before?.parentElement?.closest<HTMLElement>('[tabindex="-1"]') : null;
  useLayoutEffect(() => {
    if (hadFocus) focusIfLost(ref.current ?? around ?? null);
  });
  return ref;
}
