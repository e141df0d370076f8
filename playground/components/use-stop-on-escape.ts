import { useEffect } from 'preact/hooks';
import { isComposing } from './is-composing.ts';

/** Calls `stop` at Escape, unless a dialog is open: Escape closes that. */
export function useStopOnEscape(stop: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || isComposing(event)) return;
      if (!document.querySelector('dialog[open]')) stop();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
}
