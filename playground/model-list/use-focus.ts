import { useLayoutEffect, useRef } from 'preact/hooks';

/** Focuses an element that replaces the part of the page that had the focus. */
export function useFocus<T extends HTMLElement>() {
  const element = useRef<T>(null);
  useLayoutEffect(() => element.current?.focus(), []);
  return element;
}
