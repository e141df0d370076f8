import { signal, type ReadonlySignal } from '@preact/signals';

/** Whether a media query holds, kept up to date. */
function media(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => {
    matches.value = list.matches;
  });
  return matches;
}

/** Room for a panel beside the content. */
export const isWide = media('(width >= 70rem)');
/** Too narrow for two columns. */
export const isNarrow = media('(width < 40rem)');
/** A touch keyboard: Enter breaks the line there. */
export const isTouch = media('(pointer: coarse)');
/** The visitor asked for no movement. */
export const isStill = media('(prefers-reduced-motion: reduce)');
