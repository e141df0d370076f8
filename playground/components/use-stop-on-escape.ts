import { useEffect } from 'preact/hooks';
import { isComposing } from './keys.ts';

/** Calls `stop` at Escape, unless a dialog or menu is open: Escape closes that. */
export function useStopOnEscape(stop: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || isComposing(event)) return;
      // `:is()` also holds where `:popover-open` is unknown.
      if (!document.querySelector(':is(dialog[open], :popover-open)')) stop();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
}
